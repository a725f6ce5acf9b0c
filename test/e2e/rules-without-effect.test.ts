import {
  Controller,
  Get,
  Injectable,
  type Provider,
  SetMetadata,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Mutation, Query, ResolveField, Resolver, Subscription } from '@nestjs/graphql';
import { EventPattern, MessagePattern } from '@nestjs/microservices';
import { Cron, Interval, ScheduleModule, Timeout } from '@nestjs/schedule';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { type ContextAdapter, FreqLimit, FreqLimitGuard, SkipFreqLimit } from 'nestjs-freq-limit';
import { closeApps, startApp } from '../support/app.js';
import { startGraphql } from '../support/graphql.js';
import { captureLog, logLine } from '../support/log.js';

const { lines } = captureLog();
afterEach(closeApps);

const noHandler = (name: string): unknown =>
  expect.stringMatching(
    new RegExp(
      `^FREQ_LIMIT_RULE_WITHOUT_EFFECT: ${name} has a limit, but Nest does not call guards for this method .*so the limit has no effect\\.`,
    ),
  );

const start = (
  providers: Provider[],
  controllers: Type[] = [],
  adapters: Record<string, ContextAdapter> = {},
) =>
  startApp('express', {
    imports: [ScheduleModule.forRoot(), EventEmitterModule.forRoot()],
    providers,
    controllers,
    limits: { contextAdapters: adapters },
  });

describe('a limit where Nest calls no guard has a warning', () => {
  it('on an event listener, which always runs', async () => {
    let sent = 0;
    @Injectable()
    class Mails {
      @OnEvent('mail')
      @FreqLimit('1m', 2, 'all')
      send() {
        sent++;
      }
    }
    const { app } = await start([Mails]);
    for (let i = 0; i < 3; i++) await app.get(EventEmitter2).emitAsync('mail');
    expect(sent).toBe(3);
    expect(lines).toEqual([noHandler('Mails.send')]);
  });

  it('on a scheduled method, and on a method with other metadata or none', async () => {
    @Injectable()
    class Jobs {
      @Interval(1_000_000)
      @FreqLimit('1m', 2, 'all')
      often() {}
      @FreqLimit('1m', 2, 'all')
      @Cron('0 0 1 1 *')
      yearly() {}
      @Timeout(1_000_000)
      @FreqLimit('1m', 2, 'all')
      @FreqLimit('1h', 3, 'all')
      once() {}
      @SetMetadata('anything', true)
      @FreqLimit('1m', 2, 'all')
      tagged() {}
      @FreqLimit('1m', 2, 'all')
      plain() {}
      @SkipFreqLimit()
      skipping() {}
      @Cron('0 0 1 1 *')
      free() {}
    }
    await start([Jobs]);
    expect(lines.sort()).toEqual(
      ['Jobs.often', 'Jobs.once', 'Jobs.plain', 'Jobs.tagged', 'Jobs.yearly'].map(noHandler),
    );
  });

  it('on a handler of a type that its class cannot have', async () => {
    @Injectable()
    class NoController {
      @Get()
      @FreqLimit('1m', 2)
      route() {}
      @MessagePattern('message')
      @FreqLimit('1m', 2)
      message() {}
    }
    @Injectable()
    class NoGateway {
      @SubscribeMessage('message')
      @FreqLimit('1m', 2)
      message() {}
    }
    @Controller()
    class NoProvider {
      @Query(() => String)
      @FreqLimit('1m', 2)
      query() {}
    }
    await start([NoController, NoGateway], [NoProvider]);
    expect(lines.sort()).toEqual(
      ['NoController.message', 'NoController.route', 'NoGateway.message', 'NoProvider.query'].map(noHandler),
    );
  });

  it('on a class without handlers', async () => {
    @Injectable()
    @FreqLimit('1m', 2)
    class Mails {
      @OnEvent('mail')
      send() {}
    }
    @Controller()
    @FreqLimit('1m', 2)
    class Held {
      @Get()
      get() {}
      @OnEvent('mail')
      send() {}
    }
    await start([Mails], [Held]);
    expect(lines).toEqual([
      logLine(
        'FREQ_LIMIT_RULE_WITHOUT_EFFECT',
        'Mails has a limit, but Nest does not call guards for any of its methods',
      ),
    ]);
  });

  it('on a method that a subclass overrides without a limit', async () => {
    abstract class Base {
      @Get()
      @FreqLimit('1m', 2)
      list() {
        return 'base';
      }
      @Get('kept')
      @FreqLimit('1m', 2)
      kept() {}
      @Get('replaced')
      @FreqLimit('1m', 2)
      replaced() {}
      @Get('skipped')
      @FreqLimit('1m', 2)
      skipped() {}
    }
    @Controller('cats')
    class Cats extends Base {
      @Get()
      override list() {
        return 'cats';
      }
      @Get('replaced')
      @FreqLimit('1m', 5)
      override replaced() {}
      @Get('skipped')
      @SkipFreqLimit()
      override skipped() {}
    }
    @Controller('dogs')
    class Dogs extends Base {}
    const line =
      'FREQ_LIMIT_RULE_WITHOUT_EFFECT: Base.list has a limit, but Cats overrides the method without one, so it has no ' +
      'effect there. Add @FreqLimit to Cats.list too, or @SkipFreqLimit() if you want no limit there.';
    await start([], [Cats]);
    expect(lines.splice(0)).toEqual([line]);
    await start([], [Cats, Dogs]);
    expect(lines).toEqual([]);
  });

  it.each([
    [[], ['Words.length']],
    [['guards'], []],
  ])('on a field of a result with fieldResolverEnhancers %j', async (fieldResolverEnhancers, expected) => {
    @Resolver('Word')
    class Words {
      @Query(() => String, { nullable: true })
      @FreqLimit('1m', 2)
      word() {}
      @ResolveField('length')
      @FreqLimit('1m', 2)
      length() {}
    }
    const options = {
      typeDefs: 'type Word { length: Int } type Query { word: Word }',
      autoSchemaFile: false,
    };
    await startGraphql('apollo', { resolvers: [Words], options: { ...options, fieldResolverEnhancers } });
    expect(lines).toEqual(
      expected.map(
        (name) =>
          `FREQ_LIMIT_RULE_WITHOUT_EFFECT: ${name} has a limit, but GraphQL does not call guards for fields, so it has no ` +
          "effect. Set fieldResolverEnhancers: ['guards'] in the options of GraphQLModule.",
      ),
    );
  });
});

describe('a limit that has an effect has no warning', () => {
  it('on routes, messages, events and operations, also with other metadata next to it', async () => {
    @Controller()
    @UseGuards(FreqLimitGuard)
    class Requests {
      @Get()
      @OnEvent('mail')
      @FreqLimit('1m', 2)
      route() {}
      @MessagePattern('message')
      @FreqLimit('1m', 2)
      message() {}
      @EventPattern('event')
      @FreqLimit('1m', 2)
      event(data: unknown) {
        return data;
      }
    }
    @WebSocketGateway({ path: '/gateway' })
    @UseGuards(FreqLimitGuard)
    class Gateway {
      @SubscribeMessage('message')
      @FreqLimit('1m', 2)
      message() {}
    }
    @Resolver()
    @FreqLimit('1m', 9)
    class Operations {
      @Query(() => String)
      @FreqLimit('1m', 2)
      query() {}
      @Mutation(() => String)
      @FreqLimit('1m', 2)
      mutation() {}
      @Subscription(() => String)
      @FreqLimit('1m', 2)
      subscription() {}
    }
    await start([Operations], [Requests]);
    const { WsAdapter } = await import('@nestjs/platform-ws');
    await startApp('express', { providers: [Gateway] }, undefined, (app) => {
      app.useWebSocketAdapter(new WsAdapter(app));
    });
    expect(lines).toEqual([]);
  });

  const KEY = Symbol('queue');

  @Injectable()
  @FreqLimit('1m', 9, 'all')
  class Queue {
    @SetMetadata(KEY, 'jobs')
    @FreqLimit('1m', 2, 'all')
    onFunction() {}
    @((target, name) => {
      Reflect.defineMetadata('queue', 'jobs', target, name);
    })
    @FreqLimit('1m', 2, 'all')
    onClass() {}
  }

  it('on handlers of a library with handlerMetadata in the options', async () => {
    await start([Queue], [], {
      jobs: { handlerMetadata: KEY },
      queue: { handlerMetadata: ['other', 'queue'] },
    });
    expect(lines).toEqual([]);
    await start([Queue], [], { jobs: { handlerMetadata: KEY } });
    expect(lines).toEqual([noHandler('Queue.onClass')]);
  });

  it.each([[''], [7], [[]], [[KEY, null]], [true]])(
    'but %p is not a metadata key',
    async (handlerMetadata) => {
      await expect(start([Queue], [], { jobs: { handlerMetadata } as ContextAdapter })).rejects.toThrow(
        /^FreqLimitModule: contextAdapters.jobs: handlerMetadata: .* is not a metadata key \(a string or a symbol\), or a list/,
      );
    },
  );
});
