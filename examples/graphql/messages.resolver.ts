import {
  Args,
  Field,
  ID,
  Int,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
  Subscription,
} from '@nestjs/graphql';
import { FreqLimit } from 'nestjs-freq-limit';

@ObjectType()
export class Message {
  @Field(() => ID)
  id!: string;
}

@Resolver(() => Message)
@FreqLimit({ window: '1m', limit: 100, key: '{ip}', name: 'messages' }) // all operations of this class together
export class MessagesResolver {
  @Query(() => [Message], { nullable: true })
  messages(@Args('first', { type: () => Int, defaultValue: 20 }) first: number): Message[] {
    return Array.from({ length: first }, (_, i) => ({ id: String(i) }));
  }

  @Mutation(() => Boolean, { nullable: true })
  @FreqLimit('1m', 1, 'phone:{body.phone}') // {body.…} reads the resolver's arguments
  sendCode(@Args('phone') phone: string): boolean {
    return phone !== '';
  }

  @Subscription(() => Message)
  @FreqLimit('1m', 5, '{ip}') // counted when it begins, not for each message
  async *arrived(): AsyncGenerator<{ arrived: Message }> {
    yield await Promise.resolve({ arrived: { id: '0' } });
  }

  // guarded, and counted for each message, only with fieldResolverEnhancers: ['guards']
  @ResolveField(() => String, { nullable: true })
  @FreqLimit('1m', 30, '{ip}')
  translation(@Parent() message: Message): string {
    return `translation of ${message.id}`;
  }

  @ResolveField(() => Int)
  size(@Parent() message: Message): number {
    return message.id.length;
  }
}
