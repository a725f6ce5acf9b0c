import type { ContextType } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { IncomingMessage } from 'node:http';
import { graphqlContext, isFieldResolver } from '../../../src/contexts/graphql-context.js';
import { Handshakes } from '../../../src/contexts/handshakes.js';
import { callIdentityOf } from '../../../src/decisions/call-identity.js';

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

describe('a handler that is called with a value', () => {
  const req = { ip: '192.0.2.1', headers: {} };
  const entities = { ...info, fieldName: '_entities' };
  const args = ['reference', { req }, info];
  const type = { name: 'Node' };

  it.each([
    ['an entity to Apollo', [{ id: 1 }, { req }, entities]],
    ['an entity to Mercurius', [{ id: 1 }, {}, { req }, entities]],
    ['an entity in Nest’s own context', [{ id: 1 }, undefined, { req }, entities, undefined]],
    ['a type of a value', [{ id: 1 }, { req }, info, type]],
    ['a type of a value in Nest’s own context', [{ id: 1 }, undefined, { req }, info, type]],
    ['whether a value is of a type', [{ id: 1 }, { req }, info]],
    ['an entity after field middleware', [{ id: 1 }, { req }, entities, undefined]],
  ])('is not a field of the operation: %s', (_, args) => {
    const context = contextOf(...args);
    expect(isFieldResolver(context)).toBe(true);
    expect(adapter.request?.(context)).toMatchObject({ ip: '192.0.2.1', body: { id: 1 } });
  });

  it('has neither its value nor the information on its field to itself', () => {
    const [one, other] = [contextOf(...args), contextOf(...args)];
    expect(callIdentityOf(one)).toBe(one.getArgs());
    expect(callIdentityOf(one)).not.toBe(callIdentityOf(other));
  });
});

describe('a field', () => {
  it('is one of the operation or of a result', () => {
    expect(isFieldResolver(contextOf(undefined, {}, {}, info))).toBe(false);
    expect(isFieldResolver(contextOf({}, {}, {}, { ...info, parentType: { name: 'Row' } }))).toBe(true);
  });

  it('called _entities by the application is one of the operation', () => {
    const args = { representations: [] };
    expect(isFieldResolver(contextOf(undefined, args, {}, { ...info, fieldName: '_entities' }))).toBe(false);
  });

  it('never takes what the client sends for its context', () => {
    const args = { req: { ip: '198.51.100.1' }, user: { id: 'me' }, parentType: 'a', schema: {} };
    for (const given of [info, undefined]) {
      const request = adapter.request?.(contextOf(undefined, args, { req: { ip: '192.0.2.1' } }, given));
      expect([request?.ip, request?.user, request?.body]).toEqual(['192.0.2.1', undefined, args]);
    }
  });

  it('is a field of the operation if there is no information on it', () => {
    expect(isFieldResolver(contextOf(undefined, {}, {}, undefined))).toBe(false);
    expect(isFieldResolver(contextOf('value'))).toBe(true);
  });
});

describe('a request that no platform has handled', () => {
  it.each([
    ['/graphql?token=a', { token: 'a' }],
    ['//', {}],
    ['http://[', {}],
    ['/?a=1&b=%zz', { a: '1', b: '%zz' }],
  ])('has an address and a query: %s', (url, query) => {
    const req = { url, headers: { a: 'b' }, socket: { remoteAddress: '192.0.2.1' } } as unknown;
    const request = adapter.request?.(contextOf(undefined, {}, { req: req as IncomingMessage }, info));
    expect([request?.ip, request?.query, request?.headers]).toEqual(['192.0.2.1', query, { a: 'b' }]);
  });
});
