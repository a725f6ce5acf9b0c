import { Controller, Logger, Post, type Type } from '@nestjs/common';
import { jest } from '@jest/globals';
import { FreqLimit, type FreqLimitRule, FreqLimitService, isFreqLimitError } from '../../src/index.js';
import { closeApps, PLATFORMS, startApp } from '../support/app.js';
import { post } from '../support/http.js';

afterEach(closeApps);
afterEach(() => jest.restoreAllMocks());

@Controller()
class Accounts {
  @Post('email')
  @FreqLimit({ window: '1m', limit: 1, key: '{body.email}', normalize: 'email', name: 'n' })
  email() {
    return 'ok';
  }
  @Post('phone')
  @FreqLimit({ window: '1m', limit: 1, key: '{body.phone}', normalize: 'phone', name: 'n' })
  phone() {
    return 'ok';
  }
  @Post('both')
  @FreqLimit({
    window: '1m',
    limit: 1,
    key: '{body.email}{body.tenant}',
    normalize: { 'body.email': 'email' },
    name: 'n',
  })
  both() {
    return 'ok';
  }
  @Post('plain')
  @FreqLimit({ window: '1m', limit: 1, key: '{body.email}', name: 'n' })
  plain() {
    return 'ok';
  }
  @Post('own')
  @FreqLimit({
    window: '1m',
    limit: 1,
    key: '{body.v}',
    normalize: (value) => {
      if (value === 'throw') throw new Error('no library');
      return value === 'nonsense' ? (5 as unknown as string) : value.slice(0, 1);
    },
    name: 'n',
  })
  own() {
    return 'ok';
  }
}

const SPELLINGS = [
  'Victim@Example.org',
  ' victim@example.org ',
  '\tvictim@EXAMPLE.org\n',
  'vic\u200btim@example.org',
];

describe.each(PLATFORMS)('values that must meet on %s', (platform) => {
  let url: string;
  let service: FreqLimitService;
  beforeEach(async () => {
    const { app, ...started } = await startApp(platform, { controllers: [Accounts] });
    url = started.url;
    service = app.get(FreqLimitService);
  });
  const codes = async (path: string, bodies: readonly object[]): Promise<number[]> => {
    const seen = [];
    for (const body of bodies) seen.push((await post(`${url}/${path}`, body)).status);
    return seen;
  };

  it('are one counter where the rule says how they are spelt', async () => {
    expect(
      await codes(
        'email',
        SPELLINGS.map((email) => ({ email })),
      ),
    ).toEqual([201, 429, 429, 429]);
    expect(await codes('email', [{ email: 'victim+tag@example.org' }])).toEqual([201]);
    const phones = ['+86 138-0000', '0086 1380000', '＋８６１３８００００', '1380000', 1380000, '138 0000'];
    expect(
      await codes(
        'phone',
        phones.map((phone) => ({ phone })),
      ),
    ).toEqual([201, 429, 429, 201, 429, 429]);
  });

  it('are several where it says nothing, but for a number and its text', async () => {
    expect(
      await codes(
        'plain',
        SPELLINGS.map((email) => ({ email })),
      ),
    ).toEqual([201, 201, 201, 201]);
    expect(
      await codes(
        'plain',
        [13800000000, '13800000000'].map((email) => ({ email })),
      ),
    ).toEqual([201, 429]);
  });

  it('are spelt by placeholder', async () => {
    const tenants = ['a', 'a', 'A', ' a'];
    const bodies = tenants.map((tenant, i) => ({ email: SPELLINGS[i], tenant }));
    expect(await codes('both', bodies)).toEqual([201, 429, 201, 201]);
  });

  it('are missing where nothing is left of them: one counter by address', async () => {
    expect(await codes('phone', [{ phone: 'none' }, { phone: '+' }, {}])).toEqual([201, 429, 429]);
  });

  it('are found by the service in any spelling', async () => {
    await post(`${url}/email`, { email: 'victim@example.org' });
    const check = { controller: Accounts, handler: 'email', rule: 'n', key: ' VICTIM@example.org' } as const;
    expect((await service.peek(check)).tightest?.used).toBe(1);
    expect((await service.consume(check)).allowed).toBe(false);
    await service.reset(check);
    expect(await codes('email', [{ email: 'victim@example.org' }])).toEqual([201]);
  });

  it('are a 500 where their function fails, with one line in the log', async () => {
    const lines: string[] = [];
    jest
      .spyOn(Logger.prototype, 'error')
      .mockImplementation((message: unknown) => void lines.push(String(message)));
    expect(await codes('own', [{ v: 'throw' }, { v: 'nonsense' }, { v: 'ab' }, { v: 'ac' }])).toEqual([
      500, 500, 201, 429,
    ]);
    const place = '@FreqLimit on Accounts.own, rule "n": the normalize function failed';
    expect(lines).toEqual([`${place}: it threw Error`, `${place}: it answered number, not a text`]);
    const check = { controller: Accounts, handler: 'own', rule: 'n', key: 'throw' };
    await expect(service.peek(check)).rejects.toMatchObject({ code: 'FREQ_LIMIT_RULE_FAILED' });
    await expect(service.peek({ ...check, key: ['a', 'b'] })).rejects.toMatchObject({
      code: 'FREQ_LIMIT_INVALID_CHECK',
    });
  });
});

describe('two rules on one counter', () => {
  const rule: FreqLimitRule = { window: '1m', limit: 1, key: '{body.email}', name: 'n', scope: 'app' };
  const controllerWith = (normalize: FreqLimitRule['normalize']): Type => {
    @Controller()
    class Accounts {
      @Post()
      @FreqLimit({ ...rule, normalize })
      send() {
        return 'ok';
      }
    }
    return Accounts;
  };
  const start = (...both: FreqLimitRule['normalize'][]) =>
    startApp('express', { controllers: both.map(controllerWith) });

  it('are refused where they spell its values otherwise', async () => {
    for (const other of [undefined, 'phone', (value: string) => value] as const) {
      const error: unknown = await start('email', other).catch((thrown: unknown) => thrown);
      expect(isFreqLimitError(error) && error.message).toContain(
        'normalize: it counts on the same counters as the rule at @FreqLimit on Accounts.send, spelt otherwise',
      );
    }
  });

  it('stand where they mean the same', async () => {
    await expect(start('email', { 'body.email': 'email' })).resolves.toBeDefined();
  });
});
