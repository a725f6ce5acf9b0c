import { Controller, Get, type Type } from '@nestjs/common';
import {
  FreqLimit,
  FreqLimitCharge,
  type FreqLimitCharges,
  type FreqLimitOptions,
  isFreqLimitError,
  SkipFreqLimit,
} from 'nestjs-freq-limit';
import { closeApps, startApp } from '../support/app.js';

afterEach(closeApps);

const rule = (name: string) => ({ name, window: '1m', limit: 5 }) as const;

/** The mistakes that stop an application with this controller. */
async function problemsOf(controller: Type, limits: FreqLimitOptions = {}): Promise<readonly string[]> {
  try {
    await startApp('express', { controllers: [controller], limits });
  } catch (error) {
    if (isFreqLimitError(error)) return error.problems;
    throw error;
  }
  return [];
}

describe('an unknown rule in @FreqLimitCharge', () => {
  it('stops the application, with the names that exist', async () => {
    @Controller()
    @FreqLimit(rule('requests'))
    class Chat {
      @Get('near')
      @FreqLimit(rule('tokens'))
      near(@FreqLimitCharge('token') charge: FreqLimitCharge) {
        return charge.cost;
      }
      @Get('far')
      far(@FreqLimitCharge('money') charge: FreqLimitCharge) {
        return charge.cost;
      }
      @Get('unnamed')
      @SkipFreqLimit()
      @FreqLimit('1m', 5)
      unnamed(@FreqLimitCharge('1m') charge: FreqLimitCharge) {
        return charge.cost;
      }
    }
    expect(await problemsOf(Chat, { rules: [rule('all')] })).toEqual([
      '@FreqLimitCharge on Chat.near: no rule here has the name "token"; did you mean tokens?; existing names: all, requests, tokens',
      '@FreqLimitCharge on Chat.unnamed: no rule here has the name "1m"; existing names: all, requests; a rule needs the option name to be settled by it',
      '@FreqLimitCharge on Chat.far: no rule here has the name "money"; existing names: all, requests',
    ]);
  });

  it('stops the application also if the handler has no rule at all', async () => {
    @Controller()
    class Chat {
      @Get()
      ask(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        return charge.cost;
      }
    }
    expect(await problemsOf(Chat)).toEqual([
      '@FreqLimitCharge on Chat.ask: no rule here has the name "tokens"; existing names: none',
    ]);
  });

  it('of a subclass is one of its own', async () => {
    class Base {
      @Get()
      ask(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        return charge.cost;
      }
    }
    @Controller()
    class Sub extends Base {}
    @Controller()
    class Overrides extends Base {
      @Get()
      override ask() {
        return 0;
      }
    }
    @Controller()
    @FreqLimit(rule('tokens'))
    class Limited extends Base {}
    expect(await problemsOf(Sub)).toEqual([
      '@FreqLimitCharge on Sub.ask: no rule here has the name "tokens"; existing names: none',
    ]);
    expect(await problemsOf(Overrides)).toEqual([]);
    expect(await problemsOf(Limited)).toEqual([]);
  });

  it('may be one that is skipped, or of namedRules', async () => {
    @Controller()
    @FreqLimit('named')
    class Chat {
      @Get('skipped')
      @SkipFreqLimit('all')
      skipped(@FreqLimitCharge('all') charge: FreqLimitCharge) {
        return charge.cost;
      }
      @Get('named')
      named(@FreqLimitCharge('named') charge: FreqLimitCharge) {
        return charge.cost;
      }
    }
    const limits = { rules: [rule('all')], namedRules: { named: { window: '1m', limit: 5 } } } as const;
    expect(await problemsOf(Chat, limits)).toEqual([]);
  });

  it('is not reported next to a rule that is wrong itself', async () => {
    @Controller()
    class Chat {
      @Get()
      @FreqLimit('missing')
      ask(@FreqLimitCharge('missing') charge: FreqLimitCharge) {
        return charge.cost;
      }
    }
    expect(await problemsOf(Chat)).toEqual([
      expect.stringContaining('no rule in namedRules of FreqLimitModule has the name "missing"'),
    ]);
  });
});

describe('@FreqLimitCharge', () => {
  const decorate = FreqLimitCharge as (...given: unknown[]) => ParameterDecorator;

  it.each<[unknown[], string]>([
    [
      ['a name'],
      '@FreqLimitCharge: "a name" is not a name of 1 to 64 characters A-Z a-z 0-9 _ . - that begins with a letter or a digit; write @FreqLimitCharge() for all rules',
    ],
    [
      [5],
      '@FreqLimitCharge: 5 is not a name of 1 to 64 characters A-Z a-z 0-9 _ . - that begins with a letter or a digit; write @FreqLimitCharge() for all rules',
    ],
    [['input', 'output'], '@FreqLimitCharge: takes one name; write @FreqLimitCharge() for all rules'],
    [[{}, 'ask', 0], '@FreqLimitCharge: takes one name; write @FreqLimitCharge() for all rules'],
  ])('refuses the arguments %j', (given, message) => {
    expect(() => decorate(...given)).toThrow(message);
  });

  it('needs its parentheses', () => {
    const place = (): unknown => {
      class Wrong {
        ask(@(FreqLimitCharge as unknown as ParameterDecorator) charges: FreqLimitCharges) {
          return charges;
        }
      }
      return Wrong;
    };
    expect(place).toThrow(
      "@FreqLimitCharge on Wrong.ask: the parentheses are missing; write @FreqLimitCharge('tokens')",
    );
  });

  it('is allowed only on parameters of handlers', () => {
    const place = (): unknown => {
      class Wrong {
        constructor(@FreqLimitCharge() readonly charges: FreqLimitCharges) {}
      }
      return Wrong;
    };
    expect(place).toThrow('@FreqLimitCharge on Wrong: a constructor gets no requests');
    expect(place).toThrow(expect.objectContaining({ code: 'FREQ_LIMIT_INVALID_RULE' }));
  });
});
