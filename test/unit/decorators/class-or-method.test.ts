import { classOrMethodDecorator } from '../../../src/decorators/class-or-method.js';
import { FreqLimit } from '../../../src/decorators/freq-limit.decorator.js';
import { FreqLimitVerdict } from '../../../src/decorators/freq-limit-verdict.decorator.js';
import { SkipFreqLimit } from '../../../src/decorators/skip-freq-limit.decorator.js';
import { thrownBy } from '../fixtures.js';

type AnyDecorator = (...place: unknown[]) => unknown;
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

const PARAMETER = 'a parameter cannot have limits; move the decorator above the method or the class';
const NEW_STANDARD =
  'the decorators of this file are compiled to the newer standard, which Nest does not support; set "experimentalDecorators": true in tsconfig.json';
const NOT_A_CLASS = 'this is not a class; write the decorator above a class or a method';

const WRONG: [string, unknown[], string][] = [
  [
    'a property',
    [Controller.prototype, 'property', undefined],
    'Controller.property: this is not a method; write a method, not a property with a function',
  ],
  [
    'a property as Babel describes it',
    [Controller.prototype, 'property', { initializer: () => 1, writable: true }],
    'Controller.property: this is not a method; write a method, not a property with a function',
  ],
  [
    'a static method',
    on(Controller, 'fixed'),
    'Controller.fixed: no request calls a static method; remove static, or limit another method',
  ],
  [
    'an accessor',
    on(Controller.prototype, 'computed'),
    'Controller.computed: no request calls a getter or setter; write a method',
  ],
  [
    'a method named by a symbol',
    on(Controller.prototype, symbol),
    'Controller.Symbol(hidden): a handler with limits needs a string as its name, not a symbol',
  ],
  ['a parameter', [Controller.prototype, 'm', 0], `Controller.m: ${PARAMETER}`],
  ['a parameter of a constructor', [Controller, undefined, 0], `Controller: ${PARAMETER}`],
  [
    'a class of the newer standard',
    [Controller, { kind: 'class', name: 'Controller', addInitializer: () => undefined }],
    `Controller: ${NEW_STANDARD}`,
  ],
  [
    'a method of the newer standard',
    [Controller.prototype.m, { kind: 'method', name: 'm', static: false, addInitializer: () => undefined }],
    `m: ${NEW_STANDARD}`,
  ],
  ['an arrow function', [() => 1], `a class: ${NOT_A_CLASS}`],
  ['an object', [{}], `Object: ${NOT_A_CLASS}`],
  ['nothing', [], `undefined: ${NOT_A_CLASS}`],
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
      message: `@X on ${message}`,
    });
    expect(seen).toEqual([]);
  });

  it.each([
    ['@FreqLimit', FreqLimit('1m', 1)],
    ['@SkipFreqLimit', SkipFreqLimit()],
  ])('rejects %s anywhere else', (name, decorator) => {
    for (const [, where, message] of WRONG) {
      expect(() => (decorator as AnyDecorator)(...where)).toThrow(`${name} on ${message}`);
    }
  });
});

describe.each([
  ['@FreqLimit', FreqLimit as AnyDecorator, "@FreqLimit('1m', 5)"],
  ['@SkipFreqLimit', SkipFreqLimit as AnyDecorator, '@SkipFreqLimit()'],
  ['@FreqLimitVerdict', FreqLimitVerdict as AnyDecorator, '@FreqLimitVerdict()'],
])('%s without parentheses', (name, decorator, example) => {
  it.each<[string, unknown[], string]>([
    ['a class', [Controller], 'Controller'],
    ['a method', on(Controller.prototype, 'm'), 'Controller.m'],
    ['a property', [Controller.prototype, 'property'], 'Controller.property'],
    ['a parameter', [Controller.prototype, 'm', 0], 'Controller.m'],
    ['a parameter of a constructor', [Controller, undefined, 0], 'Controller'],
    ['a static method', on(Controller, 'fixed'), 'Controller.fixed'],
    ['a method named by a symbol', on(Controller.prototype, symbol), 'Controller.Symbol(hidden)'],
    [
      'a method of the newer standard',
      [Controller.prototype.m, { kind: 'method', name: 'm', addInitializer: () => undefined }],
      'm',
    ],
  ])('throws on %s', (_, where, place) => {
    expect(thrownBy(() => decorator(...where))).toMatchObject({
      code: 'FREQ_LIMIT_INVALID_RULE',
      message: `${name} on ${place}: the parentheses are missing; write ${example}`,
    });
  });
});

it('names a place without a class', () => {
  const decorate = FreqLimit('1m', 5) as AnyDecorator;
  expect(() => decorate(Object.create(null), 'm', {})).toThrow('@FreqLimit on a class.m: ');
});

describe('@FreqLimitVerdict()', () => {
  it.each<[string, unknown[], string]>([
    ['a class', [Controller], 'Controller: this is not a parameter'],
    ['a method', on(Controller.prototype, 'm'), 'Controller.m: this is not a parameter'],
    ['a property', [Controller.prototype, 'property'], 'Controller.property: this is not a parameter'],
    [
      'a parameter of a constructor',
      [Controller, undefined, 0],
      'Controller: a constructor gets no requests',
    ],
    ['a static method', [Controller, 'fixed', 0], 'Controller.fixed: no request calls a static method'],
    ['a symbol', [Controller.prototype, symbol, 0], 'Controller.Symbol(hidden): a handler needs a string'],
  ])('throws on %s', (_, where, message) => {
    expect(thrownBy(() => (FreqLimitVerdict() as AnyDecorator)(...where))).toMatchObject({
      code: 'FREQ_LIMIT_INVALID_RULE',
      message: expect.stringContaining(`@FreqLimitVerdict on ${message}`) as string,
    });
  });

  it('takes no arguments', () => {
    expect(() => (FreqLimitVerdict as AnyDecorator)('tightest')).toThrow(
      '@FreqLimitVerdict: takes no arguments; to get a part of the verdict, write (@FreqLimitVerdict() { tightest }: Verdict)',
    );
  });
});
