import {
  Int,
  Mutation,
  Query,
  ResolveField,
  Resolver,
  Subscription,
  ObjectType,
  Field,
} from '@nestjs/graphql';
import { FreqLimit, isFreqLimitError } from 'nestjs-freq-limit';
import { until } from '../support/cluster.js';
import { type Connection, connect, DRIVERS, execute, startGraphql } from '../support/graphql.js';
import { limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { slotsTaken, untilTaken, Work } from '../support/slots.js';

const work = new Work();
const connections: Connection[] = [];

afterEach(async () => {
  work.finish();
  await Promise.all(connections.splice(0).map((one) => one.close()));
});

const suite = redisSuite();

const slots = FreqLimit({ name: 'slots', concurrency: 1, key: 'all' });
const BUSY = {
  message: 'Too many requests at once. Try again in 1 second.',
  code: 'TOO_MANY_REQUESTS',
  retryAfter: 1,
};
let endTicks: () => void = () => undefined;

async function* untilEnded(): AsyncGenerator<{ ticks: number }> {
  const ended = new Promise<void>((resolve) => (endTicks = resolve));
  yield { ticks: 1 };
  await ended;
  yield { ticks: 2 };
}

@Resolver()
class Jobs {
  @Query(() => Int, { nullable: true })
  @slots
  async slow() {
    await work.run();
    return 1;
  }
  @Query(() => Int, { nullable: true })
  @slots
  fails() {
    throw new Error('fails');
  }
  @Mutation(() => Int, { nullable: true })
  @slots
  start() {
    return 1;
  }
  @Subscription(() => Int)
  @slots
  ticks() {
    return untilEnded();
  }
}

const of = (handler: keyof Jobs) => ({ controller: Jobs, handler, rule: 'slots' });

describe.each(DRIVERS)('a slot of GraphQL with %s', (driver) => {
  const start = () => startGraphql(driver, { resolvers: [Jobs], limits: limitsIn('redis', suite) });

  it('is taken until the HTTP response is complete', async () => {
    const { app, url } = await start();
    const first = execute(url, '{ slow }');
    await work.untilRunning(1);
    expect((await execute(url, '{ slow }')).errors).toEqual([BUSY]);
    work.finish();
    expect((await first).data).toEqual({ slow: 1 });
    await untilTaken(app, of('slow'), 0);
    await execute(url, '{ fails }');
    await untilTaken(app, of('fails'), 0);
    await execute(url, 'mutation { start }');
    await untilTaken(app, of('start'), 0);
  });

  it('is taken until a query over a socket has ended', async () => {
    const { app, url } = await start();
    const connection = connect(url);
    connections.push(connection);
    const first = connection.run('{ slow }', 'slow');
    await work.untilRunning(1);
    expect((await connection.run('{ slow }', 'slow')).errors).toEqual([BUSY]);
    work.finish();
    expect((await first).values).toEqual([1]);
    await untilTaken(app, of('slow'), 0);
  });

  it('is taken until a subscription completes, or its client leaves', async () => {
    const { app, url } = await start();
    const connection = connect(url);
    connections.push(connection);
    const first = connection.run('subscription { ticks }', 'ticks');
    await untilTaken(app, of('ticks'), 1);
    expect((await connection.run('subscription { ticks }', 'ticks')).errors).toEqual([BUSY]);
    expect(await slotsTaken(app, of('ticks'))).toBe(1);
    endTicks();
    expect((await first).values).toEqual([1, 2]);
    await untilTaken(app, of('ticks'), 0);
    connection.run('subscription { ticks }', 'ticks').catch(() => undefined);
    await untilTaken(app, of('ticks'), 1);
    await connection.close();
    await untilTaken(app, of('ticks'), 0);
  });
});

describe('a slot of a field', () => {
  @ObjectType()
  class Post {
    @Field(() => Int)
    id = 1;
  }
  @Resolver(() => Post)
  class Posts {
    @Query(() => [Post])
    posts() {
      return [{ id: 1 }, { id: 2 }];
    }
    @ResolveField(() => Int, { nullable: true })
    @slots
    async comments() {
      await work.run();
      return 3;
    }
  }
  const startWith = (fieldResolverEnhancers: string[]) =>
    startGraphql('apollo', { resolvers: [Posts], options: { fieldResolverEnhancers } });

  it('is taken until the field is resolved, if interceptors run for fields', async () => {
    const { app, url } = await startWith(['guards', 'interceptors']);
    const answer = execute(url, '{ posts { comments } }');
    await until(() => work.running > 0);
    work.finish();
    const { data, errors } = await answer;
    expect(data).toEqual({ posts: [{ comments: 3 }, { comments: null }] });
    expect(errors).toEqual([BUSY]);
    await untilTaken(app, { controller: Posts, handler: 'comments', rule: 'slots' }, 0);
  });

  it('is impossible if they do not', async () => {
    const error: unknown = await startWith(['guards']).catch((thrown: unknown) => thrown);
    expect(isFreqLimitError(error) && error.message).toBe(
      '@FreqLimit on Posts.comments: concurrency: the end of a field is not known, because GraphQL does not run interceptors ' +
        "for fields; add 'interceptors' to fieldResolverEnhancers in the options of GraphQLModule, or move the rule to the query " +
        '(Posts.comments)',
    );
  });
});
