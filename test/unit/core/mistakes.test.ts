import { FreqLimitError, invalidOptions, invalidRule } from '../../../src/core/errors.js';
import { Mistakes } from '../../../src/core/mistakes.js';
import { thrownBy } from '../fixtures.js';

const failing = (error: Error) => () => {
  throw error;
};

describe('Mistakes', () => {
  it('are none if all steps succeed, and the result is returned', () => {
    const mistakes = new Mistakes();
    expect(mistakes.attempt(() => 5)).toBe(5);
    expect(mistakes.error).toBeUndefined();
    expect(mistakes.orThrow(7)).toBe(7);
  });

  it('of one step are its error', () => {
    const error = invalidRule('wrong');
    const mistakes = new Mistakes();
    expect(mistakes.attempt(failing(error))).toBeUndefined();
    expect(mistakes.error).toBe(error);
    expect(thrownBy(() => mistakes.orThrow(7))).toBe(error);
  });

  it('of several steps are one error with a line for each', () => {
    const mistakes = new Mistakes([invalidOptions('a: wrong')]);
    mistakes.attempt(failing(invalidOptions('b: wrong')));
    mistakes.add(invalidOptions('c: wrong'));
    const error = thrownBy(() => mistakes.orThrow(undefined));
    expect(error).toBeInstanceOf(FreqLimitError);
    expect(error.message).toBe(
      '3 mistakes in the configuration of nestjs-freq-limit:\na: wrong\nb: wrong\nc: wrong',
    );
    expect(error.problems).toEqual(['a: wrong', 'b: wrong', 'c: wrong']);
  });

  it('that were found twice are shown once', () => {
    const both = new Mistakes([invalidRule('a: wrong'), invalidRule('b: wrong')]).error!;
    const { error } = new Mistakes([invalidRule('b: wrong'), both, invalidRule('c: wrong')]);
    expect(error?.problems).toEqual(['b: wrong', 'a: wrong', 'c: wrong']);
    expect(new Mistakes([both, both]).error).toBe(both);
  });

  it.each([
    ['FREQ_LIMIT_INVALID_OPTIONS', [invalidOptions('a'), invalidOptions('b')]],
    ['FREQ_LIMIT_INVALID_RULE', [invalidRule('a'), invalidRule('b')]],
    ['FREQ_LIMIT_INVALID_RULE', [invalidOptions('a'), invalidRule('b')]],
  ])('have the code %s', (code, errors) => {
    expect(new Mistakes(errors).error?.code).toBe(code);
  });

  it('keep a cause', () => {
    const cause = new Error('why');
    expect(new Mistakes([invalidRule('a'), invalidRule('b', cause)]).error?.cause).toBe(cause);
    expect(new Mistakes([invalidRule('a'), invalidRule('b')]).error).not.toHaveProperty('cause');
  });

  it('are not faults of the program', () => {
    const fault = new TypeError('x is not a function');
    const mistakes = new Mistakes();
    expect(() => mistakes.attempt(failing(fault))).toThrow(fault);
    expect(mistakes.error).toBeUndefined();
  });
});
