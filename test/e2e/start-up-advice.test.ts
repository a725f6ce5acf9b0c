import { Controller, Get, Injectable, UseGuards } from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import { EventPattern, MessagePattern } from '@nestjs/microservices';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import {
  FreqLimit,
  FreqLimitGuard,
  type FreqLimitOptions,
  FreqLimitService,
  SkipFreqLimit,
} from 'nestjs-freq-limit';
import { closeApps, startApp, statuses } from '../support/app.js';
import { startGraphql } from '../support/graphql.js';
import { captureLog, logLine } from '../support/log.js';

const log = captureLog();
afterEach(closeApps);

const constant = (place: string, key: string) =>
  logLine(
    'FREQ_LIMIT_CONSTANT_KEY',
    `${place}: the key ${key} is a constant, so all clients share one counter.`,
  );

describe('a constant key has a warning', () => {
  it('on a route, for which all clients share one counter', async () => {
    @Controller()
    class Sms {
      @Get()
      @FreqLimit('1m', 1, ':user')
      send() {}
      @Get('all')
      @FreqLimit('1m', 1, 'all:sms')
      @FreqLimit('1h', 1, ['all', 'sms'])
      all() {}
    }
    const { url } = await startApp('express', { controllers: [Sms] });
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
    expect(log.lines).toEqual([constant('@FreqLimit on Sms.send', "':user'")]);
    expect(log.lines[0]).toMatch(
      /write '\{params\.user\}' or '\{user\.id\}'\. If you mean one counter, write 'all'\.$/,
    );
  });

  it('on a class, a gateway and a resolver', async () => {
    @Controller()
    @FreqLimit('1m', 1, 'class')
    class Sms {
      @Get('one')
      one() {}
      @Get('two')
      two() {}
    }
    @WebSocketGateway({ path: '/gateway' })
    @UseGuards(FreqLimitGuard)
    class Chat {
      @SubscribeMessage('message')
      @FreqLimit('1m', 1, 'chat')
      message() {}
    }
    @Resolver()
    class Words {
      @Query(() => String)
      @FreqLimit('1m', 1, 'words')
      word() {
        return 'ok';
      }
    }
    const { WsAdapter } = await import('@nestjs/platform-ws');
    await startApp('express', { controllers: [Sms], providers: [Chat] }, undefined, (app) => {
      app.useWebSocketAdapter(new WsAdapter(app));
    });
    await startGraphql('apollo', { resolvers: [Words] });
    expect(log.lines).toEqual([
      constant('@FreqLimit on Sms', "'class'"),
      constant('@FreqLimit on Chat.message', "'chat'"),
      constant('@FreqLimit on Words.word', "'words'"),
    ]);
  });

  it('once, where the module has it', async () => {
    @Controller()
    class Sms {
      @Get('one')
      @FreqLimit('1m', 1)
      @FreqLimit('1h', 1)
      one() {}
      @Get('two')
      @FreqLimit('login')
      two() {}
      @Get('three')
      @FreqLimit('login', { limit: 3 })
      three() {}
      @Get('four')
      @FreqLimit('login', { key: 'four' })
      four() {}
    }
    const limits: FreqLimitOptions = {
      defaultKey: 'client',
      rules: [{ window: '1d', limit: 9, key: 'module' }, 'day'],
      namedRules: {
        login: { window: '15m', limit: 5, key: 'login' },
        day: { window: '1d', limit: 5, key: 'day' },
        unused: { window: '15m', limit: 5, key: 'unused' },
      },
    };
    await startApp('express', { controllers: [Sms], limits });
    expect(log.lines).toEqual([
      constant('rules[0] of FreqLimitModule', "'module'"),
      constant('namedRules.day of FreqLimitModule', "'day'"),
      constant('defaultKey of FreqLimitModule', "'client'"),
      constant('namedRules.login of FreqLimitModule', "'login'"),
      constant('@FreqLimit on Sms.four', "'four'"),
    ]);
  });

  it('but not where no client calls: on messages, events and scheduled methods', async () => {
    @Controller()
    @UseGuards(FreqLimitGuard)
    class Messages {
      @MessagePattern('message')
      @FreqLimit('1m', 1, 'messages')
      message() {}
      @EventPattern('event')
      @FreqLimit('1m', 1, 'events')
      event(data: unknown) {
        return data;
      }
    }
    @Injectable()
    class Jobs {
      @Cron('0 0 1 1 *')
      @FreqLimit('1m', 1, 'jobs')
      run() {}
    }
    @Controller()
    class Free {
      @Get()
      @SkipFreqLimit()
      get() {}
    }
    await startApp('express', {
      imports: [ScheduleModule.forRoot()],
      controllers: [Messages, Free],
      providers: [Jobs],
      limits: { rules: [{ window: '1m', limit: 9, key: 'module' }] },
    });
    expect(log.withCode('FREQ_LIMIT_CONSTANT_KEY')).toEqual([]);
  });
});

describe('a window with the wrong unit has a warning', () => {
  it('on handlers, in rules and in named rules, each in its place', async () => {
    @Controller()
    class Sms {
      @Get()
      @FreqLimit('60ms', 1)
      @FreqLimit('500ms', 1)
      @FreqLimit('named', { window: 0.06 })
      get() {}
      @Get('function')
      @FreqLimit(() => 0.5, 1)
      computed() {}
    }
    const limits: FreqLimitOptions = {
      rules: [{ window: 0.5, limit: 9 }],
      namedRules: { named: { window: 60_000, limit: 9 } },
    };
    await startApp('express', { controllers: [Sms], limits });
    expect(log.lines).toEqual([
      logLine(
        'FREQ_LIMIT_WINDOW_LOOKS_LIKE_MS',
        'namedRules.named of FreqLimitModule: window: 60000 is 16 h 40 min',
      ),
      logLine('FREQ_LIMIT_SHORT_WINDOW', 'rules[0] of FreqLimitModule: window: 0.5 is 500 ms'),
      logLine('FREQ_LIMIT_SHORT_WINDOW', "@FreqLimit on Sms.get: window: '60ms' is less than a second"),
      logLine('FREQ_LIMIT_SHORT_WINDOW', '@FreqLimit on Sms.get: window: 0.06 is 60 ms'),
    ]);
  });

  it('in a check of the service, when its name is first used', async () => {
    const { app } = await startApp('express', {});
    const service = app.get(FreqLimitService);
    const mails = { key: 'a', name: 'mails', window: 60_000, limit: 5 } as const;
    for (const key of ['a', 'b', 'c']) await service.consume({ ...mails, key });
    await service.peek([
      { ...mails, name: 'calls' },
      { key: 'a', window: '1m', limit: 5 },
    ]);
    expect(log.lines).toEqual([
      logLine('FREQ_LIMIT_WINDOW_LOOKS_LIKE_MS', 'FreqLimitService: check: window: 60000 is 16 h 40 min'),
    ]);
  });
});

it('ten mistakes in one application have ten lines', async () => {
  @Controller()
  class Mistakes {
    @Get('1')
    @FreqLimit(60_000, 1, 'login')
    a() {}
    @Get('2')
    @FreqLimit('60ms', 1, ':user')
    b() {}
    @Get('3')
    @FreqLimit(0.5, 1, '{body.phone}')
    c() {}
    @Get('4')
    @FreqLimit('1m', 1, '{user.id}')
    d() {}
    @Get('5')
    @FreqLimit('1m', 1, '{headers.x-forwarded-for}')
    e() {}
    @FreqLimit('1m', 1)
    f() {}
  }
  const limits = { redis: undefined, defaultKey: '%id%', rules: [{ window: '1d', limit: 9 }] } as const;
  await startApp('express', { controllers: [Mistakes], limits });
  expect(log.lines.map((line) => line.split(':')[0])).toEqual([
    'FREQ_LIMIT_MEMORY_ONLY',
    'FREQ_LIMIT_RULE_WITHOUT_EFFECT',
    'FREQ_LIMIT_WINDOW_LOOKS_LIKE_MS',
    'FREQ_LIMIT_SHORT_WINDOW',
    'FREQ_LIMIT_SHORT_WINDOW',
    'FREQ_LIMIT_CONSTANT_KEY',
    'FREQ_LIMIT_CONSTANT_KEY',
    'FREQ_LIMIT_CONSTANT_KEY',
    'FREQ_LIMIT_USER_NOT_SET',
    'FREQ_LIMIT_KEY_FROM_PROXY_HEADER',
  ]);
});
