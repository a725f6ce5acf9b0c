import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { RPC_CONTEXT } from '../../../src/contexts/rpc-context.js';

interface Parts {
  readonly peer?: string;
  readonly cancelled?: boolean;
}

function callOf({ peer = 'unknown', cancelled = false }: Parts) {
  return { getPeer: () => peer, cancelled, metadata: new Map<string, string>() };
}

function contextOf(...args: unknown[]): ExecutionContextHost {
  const context = new ExecutionContextHost(args);
  context.setType('rpc');
  return context;
}

describe('the address of a gRPC client', () => {
  it.each([
    ['192.0.2.1:5000', '192.0.2.1'],
    ['2001:db8::1:5000', '2001:db8::1'],
    ['::ffff:192.0.2.1:5000', '::ffff:192.0.2.1'],
    ['[2001:db8::1]:5000', '[2001:db8::1]'],
    ['ipv4:192.0.2.1:5000', '192.0.2.1'],
    ['ipv6:[2001:db8::1]:5000', '[2001:db8::1]'],
    ['unknown', undefined],
    ['unix:/tmp/socket', undefined],
  ])('for the peer %s is %s, without the port', (peer, address) => {
    const call = callOf({ peer });
    expect(RPC_CONTEXT.address?.(contextOf({}, call.metadata, call))).toBe(address);
  });

  it('is the same in a raw stream', () => {
    const call = callOf({ peer: '192.0.2.1:5000' });
    expect(RPC_CONTEXT.address?.(contextOf(call))).toBe('192.0.2.1');
    expect(RPC_CONTEXT.address?.(contextOf(call, () => undefined))).toBe('192.0.2.1');
  });

  it('is a constant for all clients that disconnected', () => {
    const call = callOf({ cancelled: true });
    expect(RPC_CONTEXT.address?.(contextOf({}, call.metadata, call))).toBe('gone');
  });

  it('is not read from a payload', () => {
    const payload = { getPeer: '192.0.2.1:5000', metadata: {} };
    expect(RPC_CONTEXT.address?.(contextOf(payload, {}))).toBeUndefined();
  });
});

describe('the body of a gRPC call', () => {
  it('is its message, and undefined for a raw stream', () => {
    const call = callOf({});
    const message = { id: 1 };
    expect(RPC_CONTEXT.request?.(contextOf(message, call.metadata, call))?.body).toBe(message);
    expect(RPC_CONTEXT.request?.(contextOf(call))?.body).toBeUndefined();
  });
});
