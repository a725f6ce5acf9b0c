import { FreqLimit } from '../../../src/decorators/freq-limit.decorator.js';
import { classLevels, handlerLevels } from '../../../src/rules/levels.js';
import type { AnyRule } from '../../../src/rules/rule.js';

const ruleOf = (decorator: MethodDecorator): AnyRule | undefined => {
  class Controller {
    @decorator
    m(): void {}
  }
  return handlerLevels(Controller, 'm')[0]!.rules[0]?.rule;
};

describe('@FreqLimit', () => {
  const limit = (): number => 5;

  it.each([
    ['window and limit', FreqLimit('1m', 5), { window: '1m', limit: 5, key: undefined }],
    ['a key too', FreqLimit('1m', 5, '{ip}'), { window: '1m', limit: 5, key: '{ip}' }],
    ['seconds', FreqLimit(60, 0), { window: 60, limit: 0, key: undefined }],
    ['functions', FreqLimit(() => '1m', limit), { window: expect.any(Function), limit, key: undefined }],
    ['an object', FreqLimit({ window: '1d', limit, name: 'daily' }), { window: '1d', limit, name: 'daily' }],
  ])('declares a rule by %s', (_, decorator, rule) => {
    expect(ruleOf(decorator)).toEqual(rule);
  });

  it('refers to a named rule by its name alone, or with changes', () => {
    class Controller {
      @FreqLimit('login')
      a(): void {}

      @FreqLimit('login', { limit: 3 })
      b(): void {}
    }
    expect(handlerLevels(Controller, 'a')[0]!.rules[0]).toMatchObject({ named: 'login', rule: {} });
    expect(handlerLevels(Controller, 'b')[0]!.rules[0]).toMatchObject({ named: 'login', rule: { limit: 3 } });
  });

  it('does not compile with a window and no limit', () => {
    // @ts-expect-error -- the limit is missing
    expect(() => FreqLimit('1m')).not.toThrow();
  });

  it('copies the rule it is given', () => {
    const rule = { window: '1m', limit: 5 } as const;
    const decorator = FreqLimit(rule);
    (rule as { limit: number }).limit = 500;
    expect(ruleOf(decorator)?.limit).toBe(5);
  });

  it('can be applied to several classes and methods', () => {
    const decorator = FreqLimit('1m', 5);
    @decorator
    class Controller {
      @decorator
      a(): void {}

      @decorator
      b(): void {}
    }
    expect(classLevels(Controller)[0]?.rules).toHaveLength(1);
    expect(handlerLevels(Controller, 'a')[0]!.rules).toHaveLength(1);
    expect(handlerLevels(Controller, 'b')[0]!.rules).toHaveLength(1);
  });

  it('does not check the rule, which happens at start-up', () => {
    expect(() => FreqLimit(undefined as never)).not.toThrow();
    expect(() => FreqLimit(null as never)).not.toThrow();
    expect(() => FreqLimit('nonsense' as never, 'nonsense' as never)).not.toThrow();
  });
});
