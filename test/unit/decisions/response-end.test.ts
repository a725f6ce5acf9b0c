import { EventEmitter } from 'node:events';
import { isAborted, onResponseClose, onResponseEnd } from '../../../src/decisions/response-end.js';

describe('onResponseEnd', () => {
  it('calls all callbacks of a response once, with one listener', () => {
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

  it('does not call back if the response is closed before its end', () => {
    const response = new EventEmitter();
    let called = false;
    onResponseEnd(response, () => (called = true));
    response.emit('close');
    expect(called).toBe(false);
  });

  it.each([undefined, null, 'response', {}, { raw: {} }])(
    'ignores %p, which is not a response',
    (response) => {
      expect(() => {
        onResponseEnd(response, () => undefined);
      }).not.toThrow();
    },
  );
});

describe('onResponseClose', () => {
  it('calls all callbacks when a response is closed, with one listener', () => {
    const response = new EventEmitter();
    const called: string[] = [];
    onResponseEnd(response, () => called.push('end'));
    onResponseClose(response, () => called.push('one'));
    onResponseClose({ raw: response }, () => called.push('two'));
    expect(response.listenerCount('close')).toBe(1);
    response.emit('close');
    response.emit('close');
    expect(called).toEqual(['one', 'two']);
  });
});

describe('isAborted', () => {
  it.each<[string, unknown, boolean]>([
    ['in progress', { destroyed: false, writableFinished: false }, false],
    ['destroyed before its end', { destroyed: true, writableFinished: false }, true],
    ['destroyed after its end', { destroyed: true, writableFinished: true }, false],
    ['of Fastify, destroyed', { raw: { destroyed: true, writableFinished: false } }, true],
    ['of HTTP/2, aborted', { raw: { stream: { aborted: true } } }, true],
    ['of HTTP/2, complete', { raw: { stream: { aborted: false } } }, false],
    ['of HTTP/2, without its stream', { raw: { stream: undefined } }, false],
    ['that is undefined', undefined, false],
  ])('for a response %s', (_, response, answer) => {
    expect(isAborted(response)).toBe(answer);
  });
});
