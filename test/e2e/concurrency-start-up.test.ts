import { Controller, Get } from '@nestjs/common';
import { GrpcStreamCall, GrpcStreamMethod, MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { FreqLimit } from 'nestjs-freq-limit';
import { isLeaseInterceptor } from '../../src/leases/lease-interceptor.js';
import { interceptorsOf } from '../../src/nest/nest-metadata.js';
import { closeApps, startApp } from '../support/app.js';
import { startGateways } from '../support/sockets.js';

afterEach(closeApps);

const forConnection = { name: 'a', concurrency: 2, holdFor: 'connection' } as const;

async function problems(start: () => Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await start().catch((thrown: unknown) => thrown);
  return (error as { problems?: readonly string[] }).problems ?? [];
}

describe('a rule with concurrency stops the start', () => {
  it('for a connection, where there is none', async () => {
    @Controller()
    class Routes {
      @Get('a')
      @FreqLimit(forConnection)
      a() {
        return 'ok';
      }
      @MessagePattern('b')
      @FreqLimit(forConnection)
      b() {
        return 'ok';
      }
    }
    const line = (place: string, names = place): string =>
      `@FreqLimit on ${place}: holdFor: 'connection' is only possible for messages of a WebSocket gateway; remove holdFor, or move ` +
      `the rule to a gateway (${names})`;
    expect(await problems(() => startApp('express', { controllers: [Routes] }))).toEqual([
      line('Routes.a'),
      line('Routes.b'),
    ]);
  });

  it('once for a rule of the module, however many handlers it has', async () => {
    @Controller()
    class Many {
      @Get('a')
      a() {
        return 'ok';
      }
      @Get('b')
      b() {
        return 'ok';
      }
      @Get('c')
      c() {
        return 'ok';
      }
      @Get('d')
      d() {
        return 'ok';
      }
    }
    expect(
      await problems(() => startApp('express', { controllers: [Many], limits: { rules: [forConnection] } })),
    ).toEqual([
      expect.stringMatching(/^rules\[0\] of FreqLimitModule: .* \(Many\.a, Many\.b, Many\.c and 1 more\)$/),
    ]);
  });

  it('for a raw stream of gRPC', async () => {
    @Controller()
    class Streams {
      @GrpcStreamMethod('Limits', 'Up')
      @FreqLimit({ name: 'a', concurrency: 2 })
      up() {
        return undefined;
      }
      @GrpcStreamCall('Limits', 'RawUp')
      @FreqLimit({ name: 'a', concurrency: 2 })
      rawUp() {
        return undefined;
      }
    }
    expect(await problems(() => startApp('express', { controllers: [Streams] }))).toEqual([
      '@FreqLimit on Streams.rawUp: concurrency: the end of a raw gRPC stream (@GrpcStreamCall) is not known; use ' +
        '@GrpcStreamMethod, or remove the rule and call FreqLimitService.hold in the handler (Streams.rawUp)',
    ]);
  });
});

describe('a handler', () => {
  @WebSocketGateway()
  class Gateway {
    @SubscribeMessage('a')
    @FreqLimit(forConnection)
    a() {
      return 'ok';
    }
  }
  @Controller()
  class Routes {
    @Get('a')
    @FreqLimit({ name: 'a', concurrency: 2 })
    a() {
      return 'ok';
    }
    @Get('b')
    @FreqLimit('1m', 5)
    b() {
      return 'ok';
    }
    @Get('c')
    @MessagePattern('c')
    @FreqLimit({ name: 'a', concurrency: 2 })
    c() {
      return 'ok';
    }
  }
  const methods = (prototype: object, names: readonly string[]): boolean[] =>
    names.map((name) =>
      interceptorsOf((prototype as Record<string, object>)[name]!).some(isLeaseInterceptor),
    );

  it('has an interceptor only if its end is not that of an HTTP response', async () => {
    await startGateways('express', 'ws', [Gateway], {}, { controllers: [Routes] });
    expect(methods(Gateway.prototype, ['a'])).toEqual([true]);
    expect(methods(Routes.prototype, ['a', 'b', 'c'])).toEqual([false, false, true]);
  });
});
