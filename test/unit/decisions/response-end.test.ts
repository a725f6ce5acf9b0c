import { EventEmitter } from 'node:events';
import { isAborted, onResponseEnd } from '../../../src/decisions/response-end.js';

describe('onFinish', () => {
  it('calls all back that wait for one response, by one listener, once', () => {
    const response = new EventEmitter();
    const called: string[] = [];
    onResponseEnd(response, () => called.push('one'));
    onResponseEnd({ raw: response }, () => called.push('two'));
    expect(response.listenerCount('finish')).toBe(1);
    response.emit('finish');
    response.emit('finish');
    expect(called).toEqual(['one', 'two']);
    onResponseEnd(response, () => called.push('three'));
    response.emit('finish');
    expect(called).toEqual(['one', 'two', 'three']);
  });

  it('never calls back for a response that is closed without', () => {
    const response = new EventEmitter();
    let called = false;
    onResponseEnd(response, () => (called = true));
    response.emit('close');
    expect(called).toBe(false);
  });

  it.each([undefined, null, 'response', {}, { raw: {} }])(
    'leaves alone what is no response: %p',
    (response) => {
      expect(() => {
        onResponseEnd(response, () => undefined);
      }).not.toThrow();
    },
  );
});

describe('isCut', () => {
  it.each<[string, unknown, boolean]>([
    ['under way', { destroyed: false, writableFinished: false }, false],
    ['destroyed before it was whole', { destroyed: true, writableFinished: false }, true],
    ['destroyed after it was whole', { destroyed: true, writableFinished: true }, false],
    ['of Fastify, destroyed', { raw: { destroyed: true, writableFinished: false } }, true],
    ['of HTTP/2, aborted', { raw: { stream: { aborted: true } } }, true],
    ['of HTTP/2, whole', { raw: { stream: { aborted: false } } }, false],
    ['of HTTP/2, gone', { raw: { stream: undefined } }, false],
    ['that is none', undefined, false],
  ])('of a response %s', (_, response, answer) => {
    expect(isAborted(response)).toBe(answer);
  });
});
