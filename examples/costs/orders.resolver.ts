import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module, NotFoundException } from '@nestjs/common';
import { Args, Field, GraphQLModule, Int, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { GraphQLError } from 'graphql';
import { FreqLimitModule } from 'nestjs-freq-limit';
import { ComplexityPlugin, type Operation } from './complexity.plugin.js';

@ObjectType()
class Item {
  @Field()
  name!: string;
}

@ObjectType()
class Order {
  @Field(() => Int)
  id!: number;

  @Field(() => [Item], { complexity: ({ childComplexity }) => 1 + 5 * childComplexity }) // an order has 5 items or so
  items!: Item[];
}

const ORDERS: readonly Order[] = [
  { id: 1, items: [{ name: 'pen' }, { name: 'ink' }] },
  { id: 2, items: [{ name: 'paper' }] },
];

/** How many orders a client gets. */
const pageSize = (first: number) => Math.min(Math.max(first, 1), 100);

@Resolver()
export class OrdersResolver {
  @Query(() => [Order], {
    complexity: ({ args, childComplexity }) => 1 + pageSize(args['first'] as number) * childComplexity,
  })
  orders(@Args('first', { type: () => Int, defaultValue: 20 }) first: number): readonly Order[] {
    return ORDERS.slice(0, pageSize(first));
  }

  @Query(() => Order, { nullable: true })
  order(@Args('id', { type: () => Int }) id: number): Order {
    const order = ORDERS.find((one) => one.id === id);
    if (order === undefined) throw new NotFoundException();
    return order;
  }
}

/** Authenticates the user: here, by the header alone. */
function userOf({ headers: { authorization } }: Request): Operation['user'] {
  if (authorization !== undefined) return { id: authorization };
  throw new GraphQLError('Unauthorized', { extensions: { code: 'UNAUTHENTICATED', http: { status: 401 } } });
}

interface Request {
  readonly headers: { readonly authorization?: string };
}

@Module({
  imports: [
    FreqLimitModule.forRoot({ redis: process.env['REDIS_URL'] ?? false, namespace: 'orders' }),
    GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      context: ({ req }: { req: Request }) => ({ req, user: userOf(req) }),
    }),
  ],
  providers: [OrdersResolver, ComplexityPlugin],
})
export class OrdersModule {}
