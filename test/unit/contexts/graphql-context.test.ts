import type { ContextType } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { IncomingMessage } from 'node:http';
import { graphqlContext, isFieldOfResult } from '../../../src/contexts/graphql-context.js';
import { Handshakes } from '../../../src/contexts/handshakes.js';
import { invocationOf } from '../../../src/contexts/invocation.js';

const QUERY = { name: 'Query' };
const schema = { getQueryType: () => QUERY, getMutationType: () => null, getSubscriptionType: () => null };
const info = { parentType: QUERY, schema };
const handshakes = new Handshakes({ httpAdapter: undefined } as never);
const adapter = graphqlContext(handshakes);

function contextOf(...args: unknown[]): ExecutionContextHost {
  const context = new ExecutionContextHost(args);
  context.setType('graphql' as ContextType);
  return context;
}

describe('an entity of a federation', () => {
  const req = { ip: '192.0.2.1', headers: {} };
  const [one, other] = [{ id: 1 }, { id: 2 }];
  const contexts = [one, other].map((reference) => contextOf(reference, { req }, info));

  it('is a field of a result, though it is resolved for one of the query', () => {
    expect(contexts.map(isFieldOfResult)).toEqual([true, true]);
    expect(isFieldOfResult(contextOf(undefined, {}, { req }, info))).toBe(false);
    expect(isFieldOfResult(contextOf({}, {}, { req }, { ...info, parentType: { name: 'Row' } }))).toBe(true);
  });

  it('has its reference to itself, and for a body', () => {
    expect(contexts.map(invocationOf)).toEqual([one, other]);
    expect(contexts.map((context) => adapter.request?.(context)?.body)).toEqual([one, other]);
    expect(contexts.map((context) => adapter.request?.(context)?.ip)).toEqual(['192.0.2.1', '192.0.2.1']);
  });
});

describe('a request that no platform has seen', () => {
  it.each([
    ['/graphql?token=a', { token: 'a' }],
    ['//', {}],
    ['http://[', {}],
    ['/?a=1&b=%zz', { a: '1', b: '%zz' }],
  ])('%s tells its address and its query', (url, query) => {
    const req = { url, headers: { a: 'b' }, socket: { remoteAddress: '192.0.2.1' } } as unknown;
    const request = adapter.request?.(contextOf(undefined, {}, { req: req as IncomingMessage }, info));
    expect([request?.ip, request?.query, request?.headers]).toEqual(['192.0.2.1', query, { a: 'b' }]);
  });
});
