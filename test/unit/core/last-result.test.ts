import { withLastResult } from '../../../src/core/last-result.js';

describe('withLastResult', () => {
  it('computes a result once for the same value, and again after another value', () => {
    const computed: string[] = [];
    const shout = withLastResult((text) => {
      computed.push(text);
      return `${text}!`;
    });
    expect(['', '', 'a', 'a', 'b', 'a'].map(shout)).toEqual(['!', '!', 'a!', 'a!', 'b!', 'a!']);
    expect(computed).toEqual(['', 'a', 'b', 'a']);
  });

  it('keeps no result of a call that throws', () => {
    let calls = 0;
    const failing = withLastResult((text) => {
      calls++;
      if (text === 'bad') throw new RangeError('no');
      return text;
    });
    expect(failing('good')).toBe('good');
    expect(() => failing('bad')).toThrow('no');
    expect(() => failing('bad')).toThrow('no');
    expect(failing('good')).toBe('good');
    expect(calls).toBe(3);
  });
});
