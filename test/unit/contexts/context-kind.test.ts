import type { ContextType } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { Adapters } from '../../../src/contexts/adapters.js';
import { contextKindOf } from '../../../src/contexts/context-kind.js';

function contextOf(type: string, ...args: unknown[]): ExecutionContextHost {
  const context = new ExecutionContextHost(args);
  context.setType(type as ContextType);
  return context;
}

describe('a kind of contexts', () => {
  const [first, second] = [{ first: true }, { second: true }];
  const info = { fieldName: 'cats' };

  it.each<[string, unknown[], unknown]>([
    ['http', [first, second], first],
    ['rpc', [first, second], second],
    ['ws', [first, second], second],
    ['ws', [first, 'a message', () => undefined], expect.any(Function)],
    ['ws', [first, 'a message'], undefined],
    ['graphql', [undefined, {}, {}, info], info],
    ['queue', [first, second], undefined],
  ])('%s knows which argument belongs to one call: %j', (type, args, own) => {
    const context = contextOf(type, ...args);
    expect(contextKindOf(context).ownArgument(context)).toEqual(own);
  });

  it.each([
    ['http', true, false, false],
    ['graphql', false, true, true],
    ['ws', false, true, false],
    ['rpc', false, true, false],
    ['queue', false, true, false],
  ])('%s: HTTP %j, shared responses %j, returned errors fail %j', (type, isHttp, shares, fails) => {
    const { sharesResponse, failsByReturnedError, ...kind } = contextKindOf(contextOf(type));
    expect([kind.isHttp, sharesResponse, failsByReturnedError]).toEqual([isHttp, shares, fails]);
  });
});

describe('an adapter', () => {
  const http = { httpAdapter: undefined } as never;

  it('has the properties of the option, then the defaults, and always the facts of its kind', () => {
    const address = (): string => '203.0.113.7';
    const adapter = new Adapters(http, { http: { address } }).of(contextOf('http'));
    expect(adapter).toMatchObject({ type: 'http', isHttp: true, sharesResponse: false, address });
    expect(adapter.request).toBeInstanceOf(Function);
  });

  it('of an unknown kind reads nothing', () => {
    const adapters = new Adapters(http, { queue: { isClientFacing: true } });
    expect(adapters.of(contextOf('queue'))).toMatchObject({ type: 'queue', isClientFacing: true });
    const unknown = adapters.of(contextOf('cron'));
    expect(unknown).toMatchObject({ type: 'cron', isClientFacing: false });
    expect([unknown.request, unknown.response, unknown.toError]).toEqual([undefined, undefined, undefined]);
  });
});
