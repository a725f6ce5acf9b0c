import type { ExecutionContext } from '@nestjs/common';
import { HTTP_CONTEXT } from '../../../src/contexts/http-context.js';
import { type AddressAdvice, ContextVisit } from '../../../src/contexts/visit.js';

const NOBODY: AddressAdvice = { noAddress: () => undefined, notBelieved: () => undefined };

function visitOf(request: unknown, advice = NOBODY): ContextVisit {
  const context = { getArgByIndex: () => request } as unknown as ExecutionContext;
  return new ContextVisit(HTTP_CONTEXT, context, 64, advice);
}

describe('ContextVisit', () => {
  it.each([
    ['request.ip', { ip: '::ffff:203.0.113.7' }, '203.0.113.7'],
    [
      'request.ip before the socket',
      { ip: '203.0.113.7', socket: { remoteAddress: '10.0.0.1' } },
      '203.0.113.7',
    ],
    ['what stands for a client that is gone', { socket: { destroyed: true } }, 'gone'],
    ['the socket where there is no request.ip', { socket: { remoteAddress: '2001:db8::1' } }, '2001:db8::'],
  ])('reads the address from %s', (_, request, address) => {
    expect(visitOf(request).address).toBe(address);
  });

  it.each([
    ['nothing is known', {}],
    ['the socket has none', { socket: {} }],
    ['there is no socket', { socket: null }],
    ['it is empty', { ip: '' }],
    ['it is no text', { ip: 5 }],
    ['there is no request', undefined],
  ])('has no address where %s', (_, request) => {
    expect(visitOf(request).address).toBeUndefined();
  });

  it('hands over the request, and reads its address only when asked, once', () => {
    let asked = 0;
    const request = {
      get ip() {
        asked++;
        return '203.0.113.7';
      },
    };
    const visit = visitOf(request);
    expect(visit.request).toBe(request);
    expect(asked).toBe(0);
    expect([visit.address, visit.address]).toEqual(['203.0.113.7', '203.0.113.7']);
    expect(asked).toBe(1);
  });

  it.each([
    ['x-forwarded-for', 1],
    ['forwarded', 1],
    ['x-request-id', 0],
  ])('tells of a header %s that is not believed', (header, times) => {
    let told = 0;
    const advice = { ...NOBODY, notBelieved: (): number => told++ };
    const socket = { remoteAddress: '10.0.0.1' };
    const headers = { [header]: 'for=198.51.100.9' };
    expect(visitOf({ ip: '10.0.0.1', socket, headers }, advice).address).toBe('10.0.0.1');
    expect(visitOf({ ip: '198.51.100.9', socket, headers }, advice).address).toBe('198.51.100.9');
    expect(told).toBe(times);
  });
});
