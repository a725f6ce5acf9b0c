import type { ExecutionContext } from '@nestjs/common';
import { HTTP_CONTEXT } from '../../../src/contexts/http-context.js';
import { type AddressWarnings, ContextRequest } from '../../../src/contexts/client-request.js';

const NOBODY: AddressWarnings = {
  noAddress: () => undefined,
  isWatching: () => true,
  notBelieved: () => undefined,
};

function visitOf(request: unknown, advice = NOBODY): ContextRequest {
  const context = { getArgByIndex: () => request } as unknown as ExecutionContext;
  return new ContextRequest(HTTP_CONTEXT, context, 64, advice);
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
    ['x-forwarded-for', true],
    ['forwarded', true],
    ['x-real-ip', true],
    ['cf-connecting-ip', true],
    ['true-client-ip', true],
    ['fly-client-ip', true],
    ['cloudfront-viewer-address', true],
    ['incap-client-ip', true],
    ['cf-ray', true],
    ['cdn-loop', true],
    ['via', true],
    ['x-forwarded-proto', true],
    ['x-request-id', false],
    ['x-amzn-trace-id', false],
    ['user-agent', false],
  ])('sees by a header %s that a proxy has sent the request: %s', (header, isProxy) => {
    let told = 0;
    const advice = { ...NOBODY, notBelieved: (): number => told++ };
    const socket = { remoteAddress: '10.0.0.1' };
    const headers = { host: 'example.org', [header]: '198.51.100.9' };
    const ofSocket = visitOf({ ip: '10.0.0.1', socket, headers }, advice);
    expect([ofSocket.address, told]).toEqual(['10.0.0.1', isProxy ? 1 : 0]);
    expect(ofSocket.isProxy).toBe(isProxy);
    expect(visitOf({ ip: '198.51.100.9', socket, headers }, advice).isProxy).toBe(false);
  });

  it.each([
    ['203.0.113.5, 10.0.0.2', true],
    ['6.6.6.6,203.0.113.5,10.0.0.2', true],
    ['10.0.0.2, 10.0.0.1', false],
    ['10.0.0.2', false],
  ])('sees by X-Forwarded-For %s whether a second proxy is not trusted: %s', (list, isProxy) => {
    const socket = { remoteAddress: '127.0.0.1' };
    expect(visitOf({ ip: '10.0.0.2', socket, headers: { 'x-forwarded-for': list } }).isProxy).toBe(isProxy);
  });

  it('looks for such headers only while the log has use for it', () => {
    let told = 0;
    const advice = { ...NOBODY, isWatching: () => false, notBelieved: (): number => told++ };
    const socket = { remoteAddress: '10.0.0.1' };
    const visit = visitOf({ ip: '10.0.0.1', socket, headers: { via: '1.1 a' } }, advice);
    expect([visit.address, told, visit.isProxy]).toEqual(['10.0.0.1', 0, true]);
  });
});
