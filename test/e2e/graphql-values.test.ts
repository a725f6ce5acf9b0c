import {
  Context,
  GqlExecutionContext,
  Info,
  Query,
  ResolveField,
  ResolveReference,
  Resolver,
} from '@nestjs/graphql';
import { ResolversExplorerService } from '@nestjs/graphql/dist/services/resolvers-explorer.service.js';
import type { GraphQLResolveInfo } from 'graphql';
import { FreqLimit, type FreqLimitOptions } from 'nestjs-freq-limit';
import { execute, DENIED, DRIVERS, startGraphql } from '../support/graphql.js';
import { redisSuite } from '../support/redis-suite.js';
import { countsOf, keysOf, redisUrl } from '../support/redis.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => ({
  redis: redisUrl(),
  namespace: suite.namespace,
  timeoutMs: 5_000,
});
const counted = async (): Promise<number[]> =>
  (await countsOf(suite.client, suite.namespace)).sort((a, b) => a - b);

const TYPES = `
  interface Node { id: Int! }
  type Book implements Node { id: Int! }
  type Author { age: Int! }
  union Found = Book | Author
  type Query { nodes: [Node], found: [Found], entities: [Book] }
`;

/** Query results: the same objects for all requests, as from a table in memory. */
const BOOKS = Array.from({ length: 6 }, (_, id) => ({ id }));

@Resolver('Node')
class Nodes {
  @Query()
  nodes() {
    return BOOKS;
  }
  @ResolveField('__resolveType')
  typeOfNode() {
    return 'Book';
  }
}

@Resolver('Found')
class Founds {
  @Query()
  found() {
    return [...BOOKS, { age: 7 }];
  }
  @ResolveField('__resolveType')
  typeOfFound(value: object) {
    return 'age' in value ? 'Author' : 'Book';
  }
}

const QUERIES = [
  ['an interface', Nodes, '{ nodes { id } }', 'nodes', BOOKS],
  [
    'a union',
    Founds,
    '{ found { ... on Book { id } ... on Author { age } } }',
    'found',
    [...BOOKS, { age: 7 }],
  ],
] as const;

const EVERY_QUERY = DRIVERS.flatMap((driver) => QUERIES.map((query) => [driver, ...query] as const));

const guarded = { autoSchemaFile: undefined, typeDefs: TYPES, fieldResolverEnhancers: ['guards'] };

describe.each(EVERY_QUERY)('types of %s resolved by %s', (driver, _, resolver, query, field, values) => {
  it.each<[string, FreqLimitOptions]>([
    ['a rule by address', { rules: [{ window: '1m', limit: 3, key: '{ip}' }] }],
    [
      'a key function',
      {
        rules: [
          {
            window: '1m',
            limit: 3,
            key: (context) =>
              GqlExecutionContext.create(context).getContext<{ req: { url: string } }>().req.url,
          },
        ],
      },
    ],
    [
      'a rule that denies without its key',
      { rules: [{ window: '1m', limit: 3, key: '{headers.x-key}', onMissingKey: 'deny' }] },
    ],
  ])('count one request by %s', async (_name, limits) => {
    const { url } = await startGraphql(driver, {
      resolvers: [resolver],
      limits: { ...inRedis(), ...limits },
      options: guarded,
    });
    const { data, errors } = await execute(url, query, {}, { 'x-key': 'a' });
    expect(errors).toEqual([]);
    expect(data![field]).toEqual(values);
    expect(await counted()).toEqual([1]);
  });
});

describe.each(DRIVERS)('handlers of %s that are called with a value', (driver) => {
  @Resolver('Node')
  @FreqLimit({ window: '1m', limit: 2, key: '{ip}', name: 'class' })
  class Limited {
    @Query()
    nodes() {
      return BOOKS;
    }
    @ResolveField('__resolveType')
    @FreqLimit({ window: '1m', limit: 4, key: '{ip}', name: 'types' })
    typeOfNode() {
      return 'Book';
    }
  }

  it('count each call only by their own rules, by the address of the request', async () => {
    const { url } = await startGraphql(driver, {
      resolvers: [Limited],
      limits: { ...inRedis(), rules: [{ window: '1m', limit: 2, key: '{ip}', name: 'module' }] },
      options: guarded,
    });
    const { data, errors } = await execute(url, '{ nodes { id } }');
    expect(data).toEqual({ nodes: [...BOOKS.slice(0, 4), null, null] });
    expect(errors).toEqual([DENIED, DENIED]);
    expect(await counted()).toEqual([1, 1, 4]);
    for (const key of await keysOf(suite.client, suite.namespace)) expect(key).toMatch(/:127\.0\.0\.1$/);
  });

  it('settle each call separately, even if all requests share their values', async () => {
    @Resolver('Node')
    class Settled {
      @Query()
      nodes() {
        return BOOKS;
      }
      @ResolveField('__resolveType')
      @FreqLimit({ window: '1m', limit: 9, key: 'all', countWhen: 'failure' })
      typeOfNode() {
        return 'Book';
      }
    }
    const { url } = await startGraphql(driver, {
      resolvers: [Settled],
      limits: inRedis(),
      options: { ...guarded, fieldResolverEnhancers: ['guards', 'interceptors'] },
    });
    for (let i = 0; i < 3; i++) {
      const { data, errors } = await execute(url, '{ nodes { id } }');
      expect({ data, errors }).toEqual({ data: { nodes: BOOKS }, errors: [] });
    }
    expect(await counted()).toEqual([]);
  });

  type Resolve = (...args: object[]) => Promise<unknown>;
  /** The function that Nest passes to a federation to resolve references. */
  let resolveReference: Resolve;

  @Resolver('Book')
  @FreqLimit({ window: '1m', limit: 2, key: '{ip}', name: 'class' })
  class Entities {
    /** Resolves references like the field `_entities` of a federation. */
    @Query()
    entities(@Context() context: object, @Info() info: GraphQLResolveInfo) {
      const entities = { ...info, fieldName: '_entities' };
      const args = driver === 'apollo' ? [context, entities] : [{}, context, entities];
      return BOOKS.map(({ id }) => resolveReference({ id }, ...args).catch(() => null));
    }
    @ResolveReference()
    reference(reference: { id: number }) {
      return reference;
    }
  }

  async function startEntities(resolver: typeof Entities, limits: FreqLimitOptions = {}) {
    const all = { ...inRedis(), ...limits };
    const { app, url } = await startGraphql(driver, { resolvers: [resolver], limits: all, options: guarded });
    const found = app.get(ResolversExplorerService, { strict: false }).explore() as unknown as {
      Book: { __resolveReference: Resolve };
    };
    resolveReference = found.Book.__resolveReference;
    return url;
  }

  it('include entities of a federation', async () => {
    const url = await startEntities(Entities, {
      rules: [{ window: '1m', limit: 2, key: '{ip}', name: 'module' }],
    });
    const { data, errors } = await execute(url, '{ entities { id } }');
    expect({ data, errors }).toEqual({ data: { entities: BOOKS }, errors: [] });
    expect(await counted()).toEqual([1, 1]);
  });

  it('count entities by their own rule, each by its reference', async () => {
    class Own extends Entities {
      @ResolveReference()
      @FreqLimit({ window: '1m', limit: 1, key: '{body.id}', name: 'own' })
      override reference(reference: { id: number }) {
        return reference;
      }
    }
    Resolver('Book')(Own);
    const url = await startEntities(Own);
    expect((await execute(url, '{ entities { id } }')).data).toEqual({ entities: BOOKS });
    expect((await execute(url, '{ entities { id } }')).data).toEqual({ entities: BOOKS.map(() => null) });
    expect(await counted()).toEqual([1, 1, 1, 1, 1, 1, 2]);
  });
});
