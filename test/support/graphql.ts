import type { INestApplication, ModuleMetadata, Provider } from '@nestjs/common';
import { ApolloDriver } from '@nestjs/apollo';
import { GraphQLModule } from '@nestjs/graphql';
import { MercuriusDriver } from '@nestjs/mercurius';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { FreqLimitModule, type FreqLimitOptions } from 'nestjs-freq-limit';
import { serve, type TestApp } from './app.js';

export type Driver = 'apollo' | 'mercurius';
export const DRIVERS: readonly Driver[] = ['apollo', 'mercurius'];

export interface GraphqlParts {
  readonly limits?: FreqLimitOptions;
  /** Before the limits. */
  readonly imports?: NonNullable<ModuleMetadata['imports']>;
  readonly resolvers: readonly Provider[];
  /** Options of the driver's module. */
  readonly options?: object;
}

const OPTIONS = {
  apollo: { driver: ApolloDriver, allowBatchedHttpRequests: true, subscriptions: { 'graphql-ws': true } },
  mercurius: { driver: MercuriusDriver, allowBatchedQueries: true, subscription: { fullWsTransport: true } },
};

/** A real application with these resolvers: Apollo on Express, or Mercurius on Fastify. */
export function startGraphql(
  driver: Driver,
  { limits = {}, imports = [], resolvers, options = {} }: GraphqlParts,
  prepare?: (app: INestApplication) => void,
): Promise<TestApp> {
  const graphql = { autoSchemaFile: true, graphiql: false, ...OPTIONS[driver], ...options };
  const limited = [FreqLimitModule.forRoot(limits), GraphQLModule.forRoot(graphql as never)];
  return serve(
    driver === 'apollo' ? 'express' : 'fastify',
    { imports: [...imports, ...limited], providers: [...resolvers] },
    undefined,
    prepare,
  );
}

/** An error as a client sees it, without its position in the operation. */
export interface SeenError {
  readonly message: string;
  readonly code: unknown;
  readonly retryAfter: unknown;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Record<string, unknown> | null;
  readonly errors: readonly SeenError[];
}

interface RawError {
  readonly message: string;
  readonly extensions?: { readonly code?: unknown; readonly retryAfter?: unknown };
}

interface RawAnswer {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly RawError[];
}

/** Sends an operation. */
export async function execute(
  url: string,
  query: string,
  variables: object = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await postJson(url, { query, variables }, headers);
  return {
    ...seen((await response.json()) as RawAnswer),
    status: response.status,
    headers: response.headers,
  };
}

/** Sends several operations in one request. */
export async function executeBatch(url: string, queries: readonly string[]): Promise<Answer[]> {
  const response = await postJson(
    url,
    queries.map((query) => ({ query })),
  );
  const answers = (await response.json()) as RawAnswer[];
  return answers.map((answer) => ({ ...seen(answer), status: response.status, headers: response.headers }));
}

/** The values of a field, or the codes of its errors, from `count` equal operations, one after the other. */
export async function fields(count: number, field: string, send: () => Promise<Answer>): Promise<unknown[]> {
  const values: unknown[] = [];
  for (let i = 0; i < count; i++) {
    const { data, errors } = await send();
    values.push(data?.[field] ?? errors[0]?.code);
  }
  return values;
}

function postJson(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

function seen({ data = null, errors = [] }: RawAnswer): Pick<Answer, 'data' | 'errors'> {
  return { data, errors: errors.map(seenError) };
}

function seenError({ message, extensions }: RawError): SeenError {
  return { message, code: extensions?.code, retryAfter: extensions?.retryAfter };
}

/** A client's connection for operations over a WebSocket. */
export interface Connection {
  /** Starts an operation and waits for its end; returns the values of a field and the errors. */
  run(query: string, field: string): Promise<{ values: unknown[]; errors: SeenError[] }>;
  close(): Promise<void>;
}

/** Connects with these headers in the handshake; all operations share the connection. */
export function connect(
  url: string,
  headers: Record<string, string> = {},
  path = '/graphql',
  connectionParams: Record<string, unknown> = {},
): Connection {
  class Socket extends WebSocket {
    constructor(address: string, protocols: string) {
      super(address, protocols, { headers });
    }
  }
  const client = createClient({
    url: url.replace('http', 'ws') + path,
    webSocketImpl: Socket,
    connectionParams,
    lazy: false,
    retryAttempts: 0,
    // a server that stops closes its connections
    onNonLazyError: () => undefined,
  });
  return {
    run: (query, field) =>
      new Promise((resolve, reject) => {
        const values: unknown[] = [];
        const errors: SeenError[] = [];
        client.subscribe(
          { query },
          {
            next: (answer) => {
              const { data, errors: failed } = seen(answer as RawAnswer);
              errors.push(...failed);
              if (data?.[field] !== undefined) values.push(data[field]);
            },
            error: (error) => {
              if (!Array.isArray(error)) {
                reject(error instanceof Error ? error : new Error('the connection was lost'));
                return;
              }
              errors.push(...(error as RawError[]).map(seenError));
              resolve({ values, errors });
            },
            complete: () => {
              resolve({ values, errors });
            },
          },
        );
      }),
    close: async () => {
      await client.dispose();
    },
  };
}

/** The error of a denied resolver with a limit per minute. */
export const DENIED = {
  message: 'Too many requests. Try again in 1 minute.',
  code: 'TOO_MANY_REQUESTS',
  retryAfter: 60,
};
