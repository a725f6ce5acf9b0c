import { classOrMethodDecorator } from '../../../src/decorators/class-or-method.js';
import { FreqLimit } from '../../../src/decorators/freq-limit.decorator.js';
import { SkipFreqLimit } from '../../../src/decorators/skip-freq-limit.decorator.js';
import { thrownBy } from '../fixtures.js';

type AnyDecorator = (target: object, name?: string | symbol, descriptor?: unknown) => unknown;
const symbol = Symbol('hidden');

class Controller {
  property = 1;
  static fixed(): void {}
  get computed(): number {
    return this.property;
  }
  m(): void {}
  [symbol](): void {}
}

const on = (target: object, name: string | symbol): [object, string | symbol, unknown] => [
  target,
  name,
  Object.getOwnPropertyDescriptor(target, name),
];

const WRONG: [string, [object, string | symbol, unknown], string][] = [
  ['a property', [Controller.prototype, 'property', undefined], 'Controller.property is neither'],
  ['a static method', on(Controller, 'fixed'), 'Controller.fixed is neither'],
  ['an accessor', on(Controller.prototype, 'computed'), 'Controller.computed is neither'],
  ['a method named by a symbol', on(Controller.prototype, symbol), 'Controller.Symbol(hidden) is neither'],
  ['a parameter', [Controller.prototype, 'm', 0], 'Controller.m is neither'],
];

describe('classOrMethodDecorator', () => {
  it('declares on a class and on a method', () => {
    const seen: unknown[] = [];
    const decorator = classOrMethodDecorator('@X', (...where) => seen.push(where)) as AnyDecorator;
    decorator(Controller);
    decorator(...on(Controller.prototype, 'm'));
    expect(seen).toEqual([
      [Controller, undefined],
      [Controller.prototype, 'm'],
    ]);
  });

  it.each(WRONG)('throws on %s', (_, where, message) => {
    const seen: unknown[] = [];
    const decorator = classOrMethodDecorator('@X', (...declared) => seen.push(declared)) as AnyDecorator;
    expect(thrownBy(() => decorator(...where))).toMatchObject({
      name: 'FreqLimitError',
      code: 'FREQ_LIMIT_INVALID_RULE',
      message: `@X is for classes and methods; ${message}`,
    });
    expect(seen).toEqual([]);
  });

  it.each([
    ['@FreqLimit', FreqLimit('1m', 1)],
    ['@SkipFreqLimit', SkipFreqLimit()],
  ])('rejects %s anywhere else', (name, decorator) => {
    for (const [, where] of WRONG) {
      expect(() => (decorator as AnyDecorator)(...where)).toThrow(`${name} is for classes and methods; `);
    }
  });
});
