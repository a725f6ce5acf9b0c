import { EventEmitter } from 'node:events';
import { canEnd, onAnswerEnd } from '../../../src/leases/answer-end.js';

class Raw extends EventEmitter {
  destroyed = false;
  writableFinished = false;
  readonly req = { socket: Object.assign(new EventEmitter(), { destroyed: false }) };
  stream: { destroyed: boolean } | undefined = undefined;
}

describe('the end of a response', () => {
  let raw: Raw;
  let ends: string[];
  const watch = (response: unknown = raw, name = 'a'): void => {
    onAnswerEnd(response, () => ends.push(name));
  };
  beforeEach(() => {
    raw = new Raw();
    ends = [];
  });

  it.each(['finish', 'close'])('comes once, with %s', (event) => {
    watch();
    raw.emit(event);
    raw.emit('close');
    raw.emit('finish');
    expect(ends).toEqual(['a']);
  });

  it('comes with the end of the socket, for a response that does not learn about it', () => {
    watch();
    raw.req.socket.emit('close');
    raw.emit('close');
    expect(ends).toEqual(['a']);
  });

  it('is found through the reply of Fastify', () => {
    watch({ raw });
    raw.emit('close');
    expect(ends).toEqual(['a']);
  });

  it('comes at once if it is over', () => {
    for (const parts of [{ destroyed: true }, { writableFinished: true }, { stream: { destroyed: true } }])
      watch(Object.assign(new Raw(), parts));
    raw.req.socket.destroyed = true;
    watch();
    expect(ends).toHaveLength(4);
  });

  it('does not depend on the socket of an HTTP/2 stream, which has its own end', () => {
    raw.stream = { destroyed: false };
    watch();
    raw.req.socket.emit('close');
    expect(ends).toEqual([]);
  });

  it('has one listener for all callbacks, and one for each socket', () => {
    for (let i = 0; i < 30; i++) watch(raw, String(i));
    for (let i = 0; i < 30; i++) watch(Object.assign(new Raw(), { req: raw.req }), `other ${i}`);
    expect(raw.listenerCount('close')).toBe(1);
    expect(raw.req.socket.listenerCount('close')).toBe(1);
    raw.req.socket.emit('close');
    expect(ends).toHaveLength(60);
  });

  it('is known of responses of Node only', () => {
    expect([raw, { raw }, {}, undefined, 'x'].map(canEnd)).toEqual([true, true, false, false, false]);
  });
});
