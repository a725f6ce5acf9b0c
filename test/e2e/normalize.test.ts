import { Controller, type ExecutionContext, Post, type Type } from '@nestjs/common';
import { FreqLimit, type FreqLimitRule, FreqLimitService, isFreqLimitError } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp } from '../support/app.js';
import { post } from '../support/http.js';
import { captureLog } from '../support/log.js';

const { errors: lines } = captureLog();

afterEach(closeApps);

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

function bodyOf(context: ExecutionContext): { readonly phone: string } {
  return context.switchToHttp().getRequest<{ body: { phone: string } }>().body;
}

const SPELLINGS = [
  'Victim@Example.org',
  ' victim@example.org ',
  '\tvictim@EXAMPLE.org\n',
  'vic\u200btim@example.org',
];

describe.each(PLATFORMS)('spellings of one value on %s', (platform) => {
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

  it('share a counter if the rule normalizes them', async () => {
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

  it('have separate counters without normalize, except for a number and its string', async () => {
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

  it('are normalized by placeholder', async () => {
    const tenants = ['a', 'a', 'A', ' a'];
    const bodies = tenants.map((tenant, i) => ({ email: SPELLINGS[i], tenant }));
    expect(await codes('both', bodies)).toEqual([201, 429, 201, 201]);
  });

  it('are missing if nothing is left of them, and counted by address', async () => {
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

  it('answer 500 if the normalize function fails, with a log line', async () => {
    expect(await codes('own', [{ v: 'throw' }, { v: 'nonsense' }, { v: 'ab' }, { v: 'ac' }])).toEqual([
      500, 500, 201, 429,
    ]);
    const place =
      'FREQ_LIMIT_RULE_FAILED: The request got 500: @FreqLimit on Accounts.own, rule "n": the normalize function failed';
    expect(lines[0]).toBe(`${place}: it threw Error`);
    const check = { controller: Accounts, handler: 'own', rule: 'n', key: 'throw' };
    await expect(service.peek(check)).rejects.toMatchObject({ code: 'FREQ_LIMIT_RULE_FAILED' });
    await expect(service.peek({ ...check, key: ['a', 'b'] })).rejects.toMatchObject({
      code: 'FREQ_LIMIT_INVALID_CHECK',
    });
  });
});

describe.each(PLATFORMS)('a value that is too long on %s', (platform) => {
  const phone = { window: '1m', limit: 1, normalize: 'phone' } as const;
  let calls = 0;
  const trim = (value: string): string => {
    calls++;
    return value.trim();
  };

  @Controller()
  class Codes {
    @Post('skip')
    @FreqLimit({ ...phone, key: '{body.phone}', onMissingKey: 'skip' })
    skip() {
      return 'ok';
    }
    @Post('list')
    @FreqLimit({ ...phone, key: ['a', '{body.phone}'] })
    list() {
      return 'ok';
    }
    @Post('function')
    @FreqLimit({ ...phone, key: (context) => bodyOf(context).phone })
    byFunction() {
      return 'ok';
    }
    @Post('dynamic')
    @FreqLimit({ ...phone, key: '{body.phone}', limit: () => Promise.resolve(1) })
    dynamic() {
      return 'ok';
    }
    @Post('shadow')
    @FreqLimit({ ...phone, key: '{body.phone}', shadow: true })
    @FreqLimit({ ...phone, key: (context) => bodyOf(context).phone, shadow: true, name: 'f' })
    shadow() {
      return 'ok';
    }
    @Post('twice')
    @FreqLimit({ window: '1m', limit: 2, key: '{body.phone}', normalize: trim })
    @FreqLimit({ window: '1h', limit: 2, key: 'phone:{body.phone}', normalize: trim })
    @FreqLimit({ window: '1d', limit: 2, key: (context) => bodyOf(context).phone, normalize: trim })
    twice() {
      return 'ok';
    }
  }

  it('denies the request, whatever onMissingKey is, so that padding evades no limit', async () => {
    const { url, app } = await startApp(platform, { controllers: [Codes] });
    const padded = `${' '.repeat(2_000)}13800000000`;
    for (const path of ['skip', 'list', 'function', 'dynamic']) {
      const answer = await post(`${url}/${path}`, { phone: padded });
      expect([path, answer.status]).toEqual([path, 400]);
      expect(await answer.text()).toContain('Value too long');
      expect((await post(`${url}/${path}`, { phone: `${' '.repeat(900)}138` })).status).toBe(201);
      expect((await post(`${url}/${path}`, { phone: '138' })).status).toBe(429);
    }
    const answer = await post(`${url}/shadow`, { phone: padded });
    expect(answer.status).toBe(201);
    const check = { controller: Codes, handler: 'skip', rule: '1m', key: padded };
    await expect(app.get(FreqLimitService).peek(check)).rejects.toThrow('longer than 1024 characters');
  });

  it('does not apply to a normalize function, which is called once for each request', async () => {
    const { url } = await startApp(platform, { controllers: [Codes] });
    calls = 0;
    expect((await post(`${url}/twice`, { phone: `${' '.repeat(2_000)}138` })).status).toBe(201);
    expect(calls).toBe(1);
    expect((await post(`${url}/twice`, { phone: '138' })).status).toBe(201);
    expect(calls).toBe(2);
    expect((await post(`${url}/twice`, { phone: ' 138' })).status).toBe(429);
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

  it('are rejected if they normalize its values differently', async () => {
    for (const other of [undefined, 'phone', (value: string) => value] as const) {
      const error: unknown = await start('email', other).catch((thrown: unknown) => thrown);
      expect(isFreqLimitError(error) && error.message).toContain(
        'normalize: this rule shares counters with the rule at @FreqLimit on Accounts.send but uses a different normalize',
      );
    }
  });

  it('are accepted if they normalize its values alike', async () => {
    await expect(start('email', { 'body.email': 'email' })).resolves.toBeDefined();
  });
});
