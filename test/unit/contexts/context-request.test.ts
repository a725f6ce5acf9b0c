import type { ExecutionContext } from '@nestjs/common';
import { HTTP_CONTEXT } from '../../../src/contexts/http-context.js';
import { type AddressWarnings, ContextRequest } from '../../../src/contexts/context-request.js';

const SILENT: AddressWarnings = {
  noAddress: () => undefined,
  shouldCheckProxy: () => true,
  untrustedProxy: () => undefined,
};

function requestOf(request: unknown, warnings = SILENT): ContextRequest {
  const context = { getArgByIndex: () => request } as unknown as ExecutionContext;
  return new ContextRequest(HTTP_CONTEXT, context, 64, warnings);
}

describe('a request of HTTP', () => {
  it.each([
    ['request.ip', { ip: '::ffff:203.0.113.7' }, '203.0.113.7'],
    [
      'request.ip before the socket',
      { ip: '203.0.113.7', socket: { remoteAddress: '10.0.0.1' } },
      '203.0.113.7',
    ],
    ['a constant for a client that disconnected', { socket: { destroyed: true } }, 'gone'],
    ['the socket if there is no request.ip', { socket: { remoteAddress: '2001:db8::1' } }, '2001:db8::'],
  ])('reads the address from %s', (_, request, address) => {
    expect(requestOf(request).address).toBe(address);
  });

  it.each([
    ['nothing is known', {}],
    ['the socket has none', { socket: {} }],
    ['there is no socket', { socket: null }],
    ['it is empty', { ip: '' }],
    ['it is not a string', { ip: 5 }],
    ['there is no request', undefined],
  ])('has no address if %s', (_, request) => {
    expect(requestOf(request).address).toBeUndefined();
  });

  it('reads the address once, when a rule first needs it', () => {
    let reads = 0;
    const request = {
      get ip() {
        reads++;
        return '203.0.113.7';
      },
    };
    const limited = requestOf(request);
    expect(limited.parts).toBe(request);
    expect(reads).toBe(0);
    expect([limited.address, limited.address]).toEqual(['203.0.113.7', '203.0.113.7']);
    expect(reads).toBe(1);
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
  ])('recognizes by a header %s that a proxy has sent the request: %s', (header, isProxy) => {
    let warned = 0;
    const warnings = { ...SILENT, untrustedProxy: (): number => warned++ };
    const socket = { remoteAddress: '10.0.0.1' };
    const headers = { host: 'example.org', [header]: '198.51.100.9' };
    const ofSocket = requestOf({ ip: '10.0.0.1', socket, headers }, warnings);
    expect([ofSocket.address, warned]).toEqual(['10.0.0.1', isProxy ? 1 : 0]);
    expect(ofSocket.isUntrustedProxy).toBe(isProxy);
    expect(requestOf({ ip: '198.51.100.9', socket, headers }, warnings).isUntrustedProxy).toBe(false);
  });

  it.each([
    ['203.0.113.5, 10.0.0.2', true],
    ['6.6.6.6,203.0.113.5,10.0.0.2', true],
    ['10.0.0.2, 10.0.0.1', false],
    ['10.0.0.2', false],
  ])('recognizes by X-Forwarded-For %s whether a second proxy is not trusted: %s', (list, isProxy) => {
    const socket = { remoteAddress: '127.0.0.1' };
    expect(requestOf({ ip: '10.0.0.2', socket, headers: { 'x-forwarded-for': list } }).isUntrustedProxy).toBe(
      isProxy,
    );
  });

  it('looks for such headers for the log only while it is watching', () => {
    let warned = 0;
    const warnings = { ...SILENT, shouldCheckProxy: () => false, untrustedProxy: (): number => warned++ };
    const socket = { remoteAddress: '10.0.0.1' };
    const limited = requestOf({ ip: '10.0.0.1', socket, headers: { via: '1.1 a' } }, warnings);
    expect([limited.address, warned, limited.isUntrustedProxy]).toEqual(['10.0.0.1', 0, true]);
  });
});
