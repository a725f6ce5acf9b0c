import {
  Controller,
  Get,
  Injectable,
  type ModuleMetadata,
  type OnModuleInit,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { Redis } from 'ioredis';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import {
  FreqLimit,
  type FreqLimitError,
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitModuleExtras,
  type FreqLimitOptions,
  FreqLimitService,
  isFreqLimitError,
  SkipFreqLimit,
} from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, serve } from '../support/app.js';
import { captureLog } from '../support/log.js';
import { closeMicroservices, messageClient, transportOf } from '../support/microservices.js';
import { redisUrl } from '../support/redis.js';

const { lines } = captureLog();

afterEach(closeMicroservices);

@Controller('sms')
@FreqLimit({ window: '1 year' as '1m', limit: -1 })
class Sms {
  @Get('one')
  one() {}
  @Get('two')
  @FreqLimit('1m', 2.5)
  two() {}
  @Get('three')
  @FreqLimit('login')
  three() {}
}

@Controller('free')
class Free {
  @Get('one')
  @SkipFreqLimit('unknown')
  one() {}
  @Get('two')
  two() {}
}

const WRONG = {
  headers: 'yes',
  maxCounters: 0,
  rules: [
    { window: '1m', limit: '5' },
    { window: '1h', limit: 5, max: 5 },
  ],
  namedRules: { login: { window: '15m', limit: 5, scope: 'route' } },
} as unknown as FreqLimitOptions;

const OF_OPTIONS = [
  "FreqLimitModule: headers: \"yes\" is not one of 'draft', 'draft-12', 'draft-11', 'legacy', 'both', 'retry-after', 'none'",
  'FreqLimitModule: maxCounters: 0 is not a whole number from 1 to 10000000',
];

const OF_RULES = [
  expect.stringMatching(
    /^rules\[0\] of FreqLimitModule: limit: "5" is not a whole number from 0 to 2\^53 - 1/,
  ),
  expect.stringMatching(/^rules\[1\] of FreqLimitModule: max: is not an option; did you mean limit\?/),
  expect.stringMatching(/^namedRules\.login of FreqLimitModule: scope: "route" is not one of 'handler'/),
];

const OF_DECORATORS = [
  expect.stringMatching(/^@FreqLimit on Sms: window: "1 year" is not a window/),
  expect.stringMatching(/^@FreqLimit on Sms: limit: -1 is not a whole number/),
  expect.stringMatching(/^@FreqLimit on Sms\.two: limit: 2\.5 is not a whole number/),
  '@SkipFreqLimit on Free.one: no rule here has the name "unknown"; existing names: none',
];

/** The error of an application that does not start. */
async function startUpError(start: () => Promise<unknown>): Promise<FreqLimitError> {
  try {
    await start();
  } catch (error) {
    if (isFreqLimitError(error)) return error;
    throw error;
  }
  throw new Error('the application started');
}

function errorOf(
  limits: FreqLimitOptions & FreqLimitModuleExtras,
  parts: ModuleMetadata,
): Promise<FreqLimitError> {
  const imports = [FreqLimitModule.forRoot(limits), ...(parts.imports ?? [])];
  return startUpError(() => serve('express', { ...parts, imports }));
}

describe.each(PLATFORMS)('an application with several mistakes on %s', (platform) => {
  it.each<[string, () => ModuleMetadata['imports']]>([
    ['forRoot', () => [FreqLimitModule.forRoot(WRONG)]],
    ['forRootAsync', () => [FreqLimitModule.forRootAsync({ useFactory: async () => WRONG })]],
    ['globalGuard: false', () => [FreqLimitModule.forRoot({ ...WRONG, globalGuard: false })]],
  ])('stops with all of them, each once: %s', async (_, imports) => {
    const error = await startUpError(() =>
      serve(platform, { imports: imports()!, controllers: [Sms, Free] }),
    );
    expect(error.code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(error.problems).toEqual([...OF_OPTIONS, ...OF_RULES, ...OF_DECORATORS]);
    expect(error.message).toBe(
      ['9 mistakes in the configuration of nestjs-freq-limit:', ...error.problems].join('\n'),
    );
    expect(lines).toEqual([]);
  });
});

describe('the error of a failed start', () => {
  it('has the code of options if only they are wrong', async () => {
    const { code, problems } = await errorOf(
      { headers: 'yes' as never, maxCounters: 0 },
      { controllers: [] },
    );
    expect([code, problems]).toEqual(['FREQ_LIMIT_INVALID_OPTIONS', OF_OPTIONS]);
  });

  it('of one mistake is its line', async () => {
    const { message, problems } = await errorOf({ maxCounters: 0 }, {});
    expect([message, problems]).toEqual([OF_OPTIONS[1], [OF_OPTIONS[1]]]);
  });

  it('has a line for a mistake in the options, not for what follows from it', async () => {
    @Controller()
    class Follows {
      @Get('one')
      @FreqLimit('login')
      @FreqLimit({ window: '1m', limit: 1, normalize: { 'body.email': 'email' } })
      one() {}
      @Get('two')
      @SkipFreqLimit('daily')
      two() {}
    }
    const limits = { rules: 'daily', namedRules: ['login'], defaultKey: 5 } as never;
    expect((await errorOf(limits, { controllers: [Follows] })).problems).toEqual([
      expect.stringMatching(/^FreqLimitModule: rules: "daily" is not a list/),
      expect.stringMatching(/^FreqLimitModule: namedRules: \[list of 1\] is not an object/),
      expect.stringMatching(/^FreqLimitModule: defaultKey: 5 is not a key/),
    ]);
  });

  it('has those of the options if these are not an object', async () => {
    const imports = [FreqLimitModule.forRootAsync({ useFactory: () => undefined as never })];
    const error = await startUpError(() => serve('express', { imports, controllers: [Sms] }));
    expect(error.problems).toEqual([
      expect.stringMatching(/^FreqLimitModule: a factory returned undefined, not an object/),
      ...OF_DECORATORS.slice(0, 3),
      expect.stringMatching(/^@FreqLimit on Sms\.three: no rule in namedRules/),
    ]);
  });

  it('has rules that share a counter by mistake, next to wrong ones', async () => {
    @Controller()
    class Shared {
      @Get('one')
      @FreqLimit({ window: '1m', limit: 1, name: 'x', scope: 'app', key: '{ip}' })
      one() {}
      @Get('two')
      @FreqLimit('1m', -1)
      @FreqLimit({ window: '1m', limit: 1, name: 'x', scope: 'app', key: '{user.id}' })
      two() {}
    }
    expect((await errorOf({}, { controllers: [Shared] })).problems).toEqual([
      expect.stringMatching(/^@FreqLimit on Shared\.two: limit: -1/),
      expect.stringMatching(/^@FreqLimit on Shared\.two: key: this rule shares counters/),
    ]);
  });

  it('has the mistakes of resolvers, gateways, message handlers and classes made by factories', async () => {
    @Resolver()
    class Words {
      @Query(() => String)
      @FreqLimit('1m', -1)
      word() {}
    }
    @WebSocketGateway()
    class Gateway {
      @SubscribeMessage('a')
      @FreqLimit('1m', -2)
      a() {}
    }
    @Controller()
    class Messages {
      @MessagePattern('a')
      @FreqLimit('1m', -3)
      a() {}
    }
    @Resolver()
    class Made {
      @Query(() => String)
      @FreqLimit('1m', -4)
      word() {}
    }
    const providers = [Words, Gateway, { provide: 'made', useFactory: async () => new Made() }];
    const module = await Test.createTestingModule({
      imports: [FreqLimitModule.forRoot({ maxCounters: 0 })],
      providers,
      controllers: [Messages],
    }).compile();
    const { problems } = await startUpError(() => module.init());
    expect(problems.map((line) => line.replace(/ is not .*/, ''))).toEqual([
      'FreqLimitModule: maxCounters: 0',
      '@FreqLimit on Messages.a: limit: -3',
      '@FreqLimit on Words.word: limit: -1',
      '@FreqLimit on Gateway.a: limit: -2',
      '@FreqLimit on Made.word: limit: -4',
    ]);
    // Nest 11 throws the error again
    await module.close().catch(() => undefined);
  });
});

describe('a failed start', () => {
  /** Fails because of a rule, or of an option. */
  const failing: [string, FreqLimitOptions, Type[]][] = [
    ['a rule', {}, [Sms]],
    ['an option', { maxCounters: 0 }, []],
  ];

  it.each(failing)('opens nothing, and initializes no other module: %s', async (_, limits, controllers) => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    let initialized = 0;
    @Injectable()
    class Database implements OnModuleInit {
      onModuleInit(): void {
        initialized++;
      }
    }
    const redis = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await errorOf({ redis, ...limits }, { controllers, providers: [Database] });
    await closeApps();
    server.close();
    await once(server, 'close');
    expect([connections, initialized]).toEqual([0, 0]);
  });

  it.each(failing)(
    'leaves no listener on a client of the application: %s',
    async (_, limits, controllers) => {
      const client = new Redis(redisUrl(), { lazyConnect: true });
      const listeners = (): number[] => client.eventNames().map((name) => client.listenerCount(name));
      const before = listeners();
      await errorOf({ redis: client, ...limits }, { controllers });
      expect([client.status, listeners()]).toEqual(['wait', before]);
      client.disconnect();
    },
  );

  it.each(failing)('denies messages that come before it: %s', async (_, limits, controllers) => {
    @Controller()
    class Messages {
      @MessagePattern('wrong')
      @UseGuards(FreqLimitGuard)
      @FreqLimit('1m', limits.maxCounters === 0 ? 5 : -1)
      wrong() {
        return 'ok';
      }
    }
    const imports = [FreqLimitModule.forRoot({ ...limits, globalGuard: false })];
    const module = await Test.createTestingModule({
      imports,
      controllers: [...controllers, Messages],
    }).compile();
    const app = module.createNestApplication();
    const transport = await transportOf('tcp');
    app.connectMicroservice(transport);
    await app.startAllMicroservices();
    const client = messageClient(transport);
    expect(await client.send('wrong', {})).toMatchObject({ error: { status: 'error' } });
    await expect(app.init()).rejects.toMatchObject({ name: 'FreqLimitError' });
    await app.close().catch(() => undefined);
  });

  it('counts nothing before it, when an option is wrong', async () => {
    const imports = [FreqLimitModule.forRoot({ maxCounters: 0 })];
    const module = await Test.createTestingModule({ imports }).compile();
    const check = { key: 'x', window: '1m', limit: 1 } as const;
    await expect(module.get(FreqLimitService).consume(check)).rejects.toMatchObject({
      code: 'FREQ_LIMIT_INVALID_OPTIONS',
      problems: [OF_OPTIONS[1]],
    });
  });
});
