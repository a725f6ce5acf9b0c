import { applyDecorators } from '@nestjs/common';
import { FreqLimit } from '../../../src/decorators/freq-limit.decorator.js';
import { SkipFreqLimit } from '../../../src/decorators/skip-freq-limit.decorator.js';
import type { ClassRef } from '../../../src/rules/class-ref.js';
import { classLevels, decoratedHandlers, handlerLevels } from '../../../src/rules/levels.js';

const limitsOf = (classRef: ClassRef, handler = 'm'): unknown[] =>
  handlerLevels(classRef, handler).flatMap(({ rules }) => rules.map(({ rule }) => rule.limit));
const classLimitsOf = (classRef: ClassRef): unknown[] =>
  classLevels(classRef).flatMap(({ rules }) => rules.map(({ rule }) => rule.limit));

@FreqLimit('1m', 100)
class Base {
  @FreqLimit('1m', 1)
  m(): string {
    return 'base';
  }

  @FreqLimit('1m', 3)
  other(): void {}
}

@FreqLimit('1h', 200)
class Derived extends Base {
  @FreqLimit('1m', 2)
  override m(): string {
    return 'derived';
  }
}

class Derived2 extends Base {
  override m(): string {
    return 'derived2';
  }
}

class Heir extends Base {}

describe('rules on a handler', () => {
  it('keep the order in which they are written', () => {
    class Stacked {
      @FreqLimit('1m', 1)
      @FreqLimit('1h', 2)
      @FreqLimit('1d', 3)
      m(): void {}
    }
    expect(limitsOf(Stacked)).toEqual([1, 2, 3]);
  });

  it('keep that order within applyDecorators and around it', () => {
    const Both = (): MethodDecorator => applyDecorators(FreqLimit('1h', 2), FreqLimit('1d', 3));
    class Composed {
      @FreqLimit('1m', 1)
      @Both()
      @FreqLimit('1d', 4)
      m(): void {}
    }
    expect(limitsOf(Composed)).toEqual([1, 2, 3, 4]);
  });

  it('survive a decorator that replaces the method with its own function', () => {
    const Wrapped: MethodDecorator = (_target, _name, descriptor) => {
      descriptor.value = (() => 'wrapped') as never;
    };
    class Traced {
      @FreqLimit('1m', 1)
      @Wrapped
      @FreqLimit('1h', 2)
      m(): string {
        return 'm';
      }
    }
    expect(new Traced().m()).toBe('wrapped');
    expect(limitsOf(Traced)).toEqual([1, 2]);
  });

  it('belong to the method that they are written on', () => {
    expect(limitsOf(Base)).toEqual([1]);
    expect(limitsOf(Derived)).toEqual([2]);
    expect(limitsOf(Derived2)).toEqual([]);
    expect(limitsOf(Heir)).toEqual([1]);
    expect(limitsOf(Derived2, 'other')).toEqual([3]);
  });

  it('name the class they are planned for, and the method', () => {
    const [rule] = handlerLevels(Heir, 'm')[0]!.rules;
    expect(rule).toMatchObject({ level: 'handler', place: '@FreqLimit on Heir.m' });
  });

  it.each(['toString', 'constructor', '__proto__', 'nothing'])('are none on %s', (handler) => {
    expect(limitsOf(Base, handler)).toEqual([]);
    expect(handlerLevels(Base, handler)).toEqual([]);
  });
});

describe('rules on a class', () => {
  it('keep the order in which they are written', () => {
    @FreqLimit('1m', 1)
    @FreqLimit('1h', 2)
    class Stacked {}
    expect(classLimitsOf(Stacked)).toEqual([1, 2]);
  });

  it('reach subclasses once, and never the parent or a sibling', () => {
    expect(classLimitsOf(Base)).toEqual([100]);
    expect(classLimitsOf(Derived)).toEqual([100, 200]);
    expect(classLimitsOf(Derived2)).toEqual([100]);
    expect(classLimitsOf(Heir)).toEqual([100]);
  });

  it('have the level of the class that they are written on', () => {
    const places = classLevels(Derived).flatMap(({ rules }) =>
      rules.map(({ level, place }) => [level, place]),
    );
    expect(places).toEqual([
      ['controller', '@FreqLimit on Base'],
      ['controller', '@FreqLimit on Derived'],
    ]);
  });
});

describe('skips', () => {
  @SkipFreqLimit('a')
  class Skipping {
    @SkipFreqLimit('b')
    @SkipFreqLimit('c', 'd')
    some(): void {}

    @SkipFreqLimit('b')
    @SkipFreqLimit()
    all(): void {}

    none(): void {}
  }

  it('add up, and one without names takes all', () => {
    const some = handlerLevels(Skipping, 'some')[0]?.skip;
    expect([...(some?.names ?? [])].sort()).toEqual(['b', 'c', 'd']);
    expect(some?.place).toBe('@SkipFreqLimit on Skipping.some');
    expect(handlerLevels(Skipping, 'all')[0]?.skip?.names).toEqual([]);
    expect(handlerLevels(Skipping, 'none')).toEqual([]);
    expect(classLevels(Skipping)[0]?.skip).toEqual({ names: ['a'], place: '@SkipFreqLimit on Skipping' });
  });
});

describe('decoratedHandlers', () => {
  it('are those of the class and of its parents, each once', () => {
    class Child extends Base {
      @FreqLimit('1m', 1)
      @FreqLimit('1h', 1)
      @SkipFreqLimit()
      own(): void {}

      plain(): void {}
    }
    expect(decoratedHandlers(Child).sort()).toEqual(['m', 'other', 'own']);
    expect(decoratedHandlers(Base).sort()).toEqual(['m', 'other']);
    expect(decoratedHandlers(class {})).toEqual([]);
  });
});
