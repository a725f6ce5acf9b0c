import type { ExecutionContext } from '@nestjs/common';
import { HttpVisit } from '../../../src/http/http-visit.js';

function contextOf(request: unknown, type = 'http'): ExecutionContext {
  return {
    getType: () => type,
    getArgByIndex: () => request,
  } as unknown as ExecutionContext;
}

describe('HttpVisit', () => {
  it.each([
    ['request.ip', { ip: '::ffff:203.0.113.7' }, '203.0.113.7'],
    [
      'request.ip before the socket',
      { ip: '203.0.113.7', socket: { remoteAddress: '10.0.0.1' } },
      '203.0.113.7',
    ],
    ['the socket where there is no request.ip', { socket: { remoteAddress: '2001:db8::1' } }, '2001:db8::'],
  ])('reads the address from %s', (_, request, address) => {
    expect(HttpVisit.of(contextOf(request), 64, () => undefined).address).toBe(address);
  });

  it.each([
    ['nothing is known', {}],
    ['the socket is closed', { socket: {} }],
    ['it is empty', { ip: '' }],
    ['it is no text', { ip: 5 }],
    ['there is no request', undefined],
  ])('has no address where %s', (_, request) => {
    expect(HttpVisit.of(contextOf(request), 64, () => undefined).address).toBeUndefined();
  });

  it('hands over the request, and reads its address only when asked, once', () => {
    let asked = 0;
    const request = {
      get ip() {
        asked++;
        return '203.0.113.7';
      },
    };
    const visit = HttpVisit.of(contextOf(request), 64, () => undefined);
    expect(visit.request).toBe(request);
    expect(asked).toBe(0);
    expect([visit.address, visit.address]).toEqual(['203.0.113.7', '203.0.113.7']);
    expect(asked).toBe(1);
  });

  it.each(['rpc', 'ws', 'graphql', 'rmq'])('knows nothing of a visit by %s', (type) => {
    const visit = HttpVisit.of(contextOf({ ip: '203.0.113.7' }, type), 64, () => undefined);
    expect(visit.request).toBeUndefined();
    expect(visit.address).toBeUndefined();
  });
});
