import { Controller, Get, Redirect } from '@nestjs/common';
import { FreqLimit } from '../../../src/decorators/freq-limit.decorator.js';
import { FreqLimitVerdict } from '../../../src/decorators/freq-limit-verdict.decorator.js';
import { SkipFreqLimit } from '../../../src/decorators/skip-freq-limit.decorator.js';
import type { ClassPlans } from '../../../src/plans/class-plans.js';
import { registryOf } from './fake-discovery.js';

type Method = (this: unknown, ...args: unknown[]) => unknown;

function plansOf(classRef: new () => object): ClassPlans {
  return registryOf(classRef).find(classRef)!;
}

function limits(plans: ClassPlans, handler: { readonly name: string }): unknown[] | undefined {
  return plans.of(handler)?.rules.map(({ limit }) => limit);
}

describe('the plan of a function', () => {
  @Controller()
  class Cats {
    @Get()
    @FreqLimit('1m', 5)
    list() {}
    @Get('other')
    @FreqLimit('1m', 7)
    other() {}
    @Get('free')
    free() {}
  }
  const list: Method = Cats.prototype.list;

  it('is that of the method that it is', () => {
    const plans = plansOf(Cats);
    expect(limits(plans, list)).toEqual([5]);
    expect(limits(plans, Cats.prototype.free)).toBeUndefined();
  });

  it('is that of the method that it was bound from', () => {
    expect(limits(plansOf(Cats), list.bind(new Cats()))).toEqual([5]);
  });

  it('is that of the method whose marks it inherits or has copied', () => {
    const inherits = Object.setPrototypeOf(() => undefined, list) as Method;
    const copies = () => undefined;
    for (const key of Reflect.getMetadataKeys(list)) {
      Reflect.defineMetadata(key, Reflect.getMetadata(key, list), copies);
    }
    for (const one of [inherits, copies]) expect(limits(plansOf(Cats), one)).toEqual([5]);
  });

  it('is that of the method whose name it has', () => {
    const named = { other: () => undefined };
    expect(limits(plansOf(Cats), named.other)).toEqual([7]);
  });

  it('is not known if it is none of these', () => {
    expect(() => limits(plansOf(Cats), () => undefined)).toThrow(
      'Cats: the function [function anonymous] is not one of its methods, so its limits are not known. ' +
        'Wrap methods with a decorator, or give the function the name of its method.',
    );
  });

  it('is that of the class if all of its handlers have the same rules', () => {
    @FreqLimit('1m', 9)
    class Same {
      a() {}
    }
    expect(limits(plansOf(Same), () => undefined)).toEqual([9]);
    @FreqLimit({ window: '1m', limit: 9, scope: 'handler' })
    class Each {
      a() {}
    }
    expect(() => limits(plansOf(Each), () => undefined)).toThrow('its limits are not known');
  });
});

describe('the functions of an instance', () => {
  class Wrapping {
    readonly replaced: () => string;
    constructor() {
      this.list = () => 'wrapped';
      this.replaced = () => 'not a method';
    }
    @FreqLimit('1m', 5)
    list() {
      return 'ok';
    }
  }

  it('have the plans of the methods whose place they take', () => {
    const plans = plansOf(Wrapping);
    const instance = plans.appClass!.instance() as Wrapping;
    plans.planBoundMethods();
    expect(limits(plans, instance.list)).toEqual([5]);
  });
});

describe('one function under several names', () => {
  function twice(...decorators: MethodDecorator[]): new () => object {
    class Twice {
      @Get('one')
      @FreqLimit('1m', 5)
      one() {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Twice.prototype, 'one')!;
    Object.defineProperty(Twice.prototype, 'two', descriptor);
    for (const decorate of decorators) decorate(Twice.prototype, 'two', descriptor);
    return Twice;
  }

  it('has one plan', () => {
    const plans = plansOf(twice());
    expect(plans.ofMethod('two')).toBe(plans.ofMethod('one'));
    expect(plans.errors()).toEqual([]);
  });

  it.each([
    ['another rule', FreqLimit('1h', 1)],
    ['a skip', SkipFreqLimit()],
  ])('may not have %s under one of them', (_, decorator) => {
    const plans = plansOf(twice(decorator));
    expect(plans.errors().map(({ message }) => message)).toEqual([
      '@FreqLimit on Twice.one: two is the same function but has other limits, and a guard cannot tell which of the ' +
        'two is called. Make one of them a function of its own.',
    ]);
  });
});

it('the traits of a handler are those of its decorators', () => {
  class Traits {
    @Redirect('/there')
    @FreqLimit('1m', 5)
    moved() {}
    @FreqLimit('1m', 5)
    shows(@FreqLimitVerdict() verdict: unknown) {
      return verdict;
    }
  }
  const plans = plansOf(Traits);
  const traits = (name: string) => {
    const { redirects, showsVerdict } = plans.ofMethod(name).plan!;
    return { redirects, showsVerdict };
  };
  expect(traits('moved')).toEqual({ redirects: true, showsVerdict: false });
  expect(traits('shows')).toEqual({ redirects: false, showsVerdict: true });
});

describe('a class with 1,000 handlers', () => {
  class Many {}
  const names = Array.from({ length: 1_000 }, (_, i) => `handler${i}`);
  for (const name of names) {
    const descriptor = { value: () => name, writable: true, configurable: true };
    Object.defineProperty(Many.prototype, name, descriptor);
    // as compilers do for each method
    Reflect.defineMetadata('design:paramtypes', [String], Many.prototype, name);
    const decorators = [Get(name), FreqLimit('1m', 5), FreqLimit('1h', 50)];
    for (const decorate of decorators) decorate(Many.prototype, name, descriptor);
  }

  it('is planned in time that does not grow with the square of the number', () => {
    const from = performance.now();
    const plans = plansOf(Many);
    expect(plans.methods()).toHaveLength(1_000);
    expect(plans.errors()).toEqual([]);
    expect(plans.isDecorated()).toBe(true);
    // some 100 ms; about ten seconds if each handler looks at all others for each of them
    expect(performance.now() - from).toBeLessThan(3_000);
  });
});
