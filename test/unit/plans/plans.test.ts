import { Controller, Get } from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import { Mistakes } from '../../../src/core/mistakes.js';
import { FreqLimit } from '../../../src/decorators/freq-limit.decorator.js';
import type { FreqLimitPlans } from '../../../src/plans/plans.js';
import type { ClassRef } from '../../../src/rules/class-ref.js';
import { thrownBy } from '../fixtures.js';
import { ofClass, ofFactory, plansOf } from './fake-discovery.js';

@Controller()
class Cats {
  @Get('list')
  @FreqLimit('1m', 5)
  list() {}
  @Get('free')
  free() {}
}

@Resolver()
class Words {
  @Query(() => String)
  @FreqLimit('1m', 2)
  word() {}
}

/** As at start-up. */
function startUp(plans: FreqLimitPlans): void {
  plans.planKnownClasses();
  plans.planClassesOfInstances();
  new Mistakes(plans.errors()).orThrow(undefined);
}

function limitOf(plans: FreqLimitPlans, classRef: ClassRef, name: string): unknown {
  const method = (classRef.prototype as Record<string, { readonly name: string }>)[name]!;
  return plans.of(classRef, method)?.rules.map(({ limit }) => limit);
}

describe('start-up', () => {
  it('plans declared classes first, and those of factories when they are made', () => {
    const plans = plansOf({ controllers: [ofClass(Cats)], providers: [ofFactory(new Words())] });
    const names = (handlers: ReturnType<FreqLimitPlans['planClassesOfInstances']>) =>
      handlers.map(({ classRef, name, kind }) => [classRef, name, kind]);
    expect(names(plans.planKnownClasses())).toEqual([[Cats, 'list', 'route']]);
    expect(names(plans.planClassesOfInstances())).toEqual([[Words, 'word', 'operation']]);
    expect(names(plans.guardedHandlers())).toEqual([
      [Cats, 'list', 'route'],
      [Words, 'word', 'operation'],
    ]);
  });

  it('gives a handler one plan, made once', () => {
    const plans = plansOf({ controllers: [ofClass(Cats)] });
    const [planned] = plans.planKnownClasses();
    startUp(plans);
    expect(plans.of(Cats, Cats.prototype.list)).toBe(planned!.plan);
    expect(plans.guardedHandlers()[0]!.plan).toBe(planned!.plan);
  });

  it('adds the rules of the module to all handlers', () => {
    const plans = plansOf({ controllers: [ofClass(Cats)] }, { rules: [{ window: '1h', limit: 9 }] });
    startUp(plans);
    expect(limitOf(plans, Cats, 'list')).toEqual([9, 5]);
    expect(limitOf(plans, Cats, 'free')).toEqual([9]);
  });

  it('plans a class that comes later with its first request', () => {
    const plans = plansOf({});
    startUp(plans);
    expect(limitOf(plans, Cats, 'list')).toEqual([5]);
    expect(plans.classes).toEqual([]);
  });
});

describe('wrong declarations', () => {
  @Controller()
  class Wrong {
    @Get('one')
    @FreqLimit('1m', -1)
    one() {}
    @FreqLimit('1m', 1.5)
    two() {}
    @Get('right')
    @FreqLimit('1m', 3)
    right() {}
  }
  @Resolver()
  class WrongToo {
    @Query(() => String)
    @FreqLimit('1 year' as never, 1)
    word() {}
  }

  it('do not stop the planning of others', () => {
    const plans = plansOf({ controllers: [ofClass(Wrong)] });
    expect(plans.planKnownClasses().map(({ name }) => name)).toEqual(['right']);
  });

  it('of the module are reported once, although all plans have them', () => {
    const plans = plansOf(
      { controllers: [ofClass(Wrong)], providers: [ofFactory(new WrongToo())] },
      { rules: [{ window: '1m', limit: -7 }], namedRules: { login: { window: '1m', limit: -8 } } },
    );
    const error = thrownBy(() => {
      startUp(plans);
    });
    expect(error.code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(error.problems.map((line) => line.split(': ')[0])).toEqual([
      'rules[0] of FreqLimitModule',
      'namedRules.login of FreqLimitModule',
      '@FreqLimit on Wrong.one',
      '@FreqLimit on Wrong.two',
      '@FreqLimit on WrongToo.word',
    ]);
  });

  it('are reported together, with class and method, also those of what factories made', () => {
    const plans = plansOf({ controllers: [ofClass(Wrong)], providers: [ofFactory(new WrongToo())] });
    const { message } = thrownBy(() => {
      startUp(plans);
    });
    expect(message.split('\n')).toEqual([
      '3 mistakes in the configuration of nestjs-freq-limit:',
      expect.stringMatching(/^@FreqLimit on Wrong\.one: limit: -1 /),
      expect.stringMatching(/^@FreqLimit on Wrong\.two: limit: 1\.5 /),
      expect.stringMatching(/^@FreqLimit on WrongToo\.word: window: "1 year"/),
    ]);
  });

  it('stop a request for the handler, each time', () => {
    const plans = plansOf({ controllers: [ofClass(Wrong)] });
    plans.planKnownClasses();
    for (let i = 0; i < 2; i++) expect(() => limitOf(plans, Wrong, 'one')).toThrow('limit: -1');
  });
});

describe('rules that share their counters', () => {
  const shared = (part: object) =>
    FreqLimit({ window: '1m', limit: 1, name: 'shared', scope: 'app', ...part });
  function errorOf(one: object, other: object): string {
    @Controller()
    class Two {
      @Get('one')
      @shared(one)
      one() {}
      @Get('other')
      @shared(other)
      other() {}
    }
    return thrownBy(() => {
      startUp(plansOf({ controllers: [ofClass(Two)] }));
    }).message;
  }

  it('must have the same key', () => {
    expect(errorOf({ key: '{ip}' }, { key: '{body.phone}' })).toBe(
      '@FreqLimit on Two.other: key: this rule shares counters with the rule at @FreqLimit on Two.one but uses a different key; ' +
        'give one of them another name, or both the same key',
    );
  });

  it('must have the same normalize', () => {
    expect(errorOf({ key: '{body.a}' }, { key: '{body.a}', normalize: 'email' })).toContain(
      'normalize: this rule shares counters with the rule at @FreqLimit on Two.one but uses a different normalize',
    );
  });

  it("must have the same key, also where one is the module's for a class", () => {
    @Controller()
    class One {
      @Get('one')
      @FreqLimit({ window: '1m', limit: 1, name: 'shared', scope: 'controller', key: '{body.phone}' })
      one() {}
    }
    const rules = [{ window: '1m', limit: 1, name: 'shared', scope: 'controller' }] as const;
    expect(() => {
      startUp(plansOf({ controllers: [ofClass(One)] }, { rules }));
    }).toThrow(
      'rules[0] of FreqLimitModule: key: this rule shares counters with the rule at @FreqLimit on One.one',
    );
  });

  it('may be one rule in several plans', () => {
    expect(() => errorOf({ key: '{ip}' }, { key: '{ip}' })).toThrow('nothing was thrown');
  });
});

describe('the rules of a name', () => {
  const plans = plansOf(
    { controllers: [ofClass(Cats)] },
    { rules: [{ window: '1h', limit: 9, name: 'global' }] },
  );
  startUp(plans);
  const names = (...args: Parameters<FreqLimitPlans['rulesOf']>) =>
    plans.rulesOf(...args).map(({ name }) => name);

  it('are those of the module, of a class, or of a handler', () => {
    expect(names(undefined, undefined)).toEqual(['global']);
    expect(names(Cats, undefined)).toEqual(['global']);
    expect(names(Cats, 'list')).toEqual(['global', '1m']);
    expect(names(Cats, 'free')).toEqual(['global']);
  });

  it('are none of a class or a handler that the application does not have', () => {
    expect(() => names(Words, undefined)).toThrow(
      new TypeError('[function Words] is not a controller of this application'),
    );
    expect(() => names(Cats, 'nothing')).toThrow(new TypeError('Cats has no handler called "nothing"'));
  });
});
