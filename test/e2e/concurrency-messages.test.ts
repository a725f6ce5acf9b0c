import {
  type CanActivate,
  Controller,
  type NestInterceptor,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { GrpcMethod, MessagePattern, Payload } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import { interval, map, merge, of, Subject, take } from 'rxjs';
import { FreqLimit } from 'nestjs-freq-limit';
import { LEASE_TIMES } from '../../src/core/leases.js';
import { until } from '../support/cluster.js';
import { grpcClient, grpcTransport } from '../support/grpc.js';
import { KINDS, limitsIn } from '../support/kinds.js';
import {
  closeMicroservices,
  messageClient,
  startMicroservice,
  transportOf,
} from '../support/microservices.js';
import { redisSuite } from '../support/redis-suite.js';
import { slotsTaken, untilTaken, Work } from '../support/slots.js';
import { closeClients, connect, LIBRARIES, reply, startGateways } from '../support/sockets.js';

const work = new Work();
const times = { ...LEASE_TIMES };

afterEach(() => {
  work.finish();
  Object.assign(LEASE_TIMES, times);
});
afterEach(closeClients);
afterEach(closeMicroservices);

const suite = redisSuite();

const DENIES: CanActivate = { canActivate: () => false };
const CACHED: NestInterceptor = { intercept: () => of(reply('cached')) };
/** It has its answer before it waits for the handler. */
const RACES: NestInterceptor = {
  intercept: (_, next) => merge(next.handle(), of(reply('raced'))).pipe(take(1)),
};
const slots = FreqLimit({ name: 'slots', concurrency: 1, key: 'all' });
const busy = {
  status: 'error',
  code: 'TOO_MANY_REQUESTS',
  message: 'Too many requests at once. Try again in 1 second.',
  retryAfter: 1,
};

let ticks = new Subject<number>();
let most = 1;

@WebSocketGateway()
class Chat {
  @SubscribeMessage('slow')
  @slots
  async slow() {
    await work.run();
    return reply('done');
  }
  @SubscribeMessage('thrown')
  @slots
  thrown() {
    throw new WsException('thrown');
  }
  @SubscribeMessage('ticks')
  @slots
  ticks() {
    ticks = new Subject();
    return ticks.pipe(map(reply));
  }
  @SubscribeMessage('denied')
  @slots
  @UseGuards(DENIES)
  denied() {
    return reply('ok');
  }
  @SubscribeMessage('cached')
  @slots
  @UseInterceptors(CACHED)
  cached() {
    return reply('ok');
  }
  @SubscribeMessage('join')
  @FreqLimit({ name: 'slots', concurrency: 2, key: 'all', holdFor: 'connection' })
  join() {
    return reply('joined');
  }
  @SubscribeMessage('alone')
  @FreqLimit({ name: 'slots', concurrency: () => most, key: 'all', holdFor: 'connection' })
  alone() {
    return reply('alone');
  }
  @SubscribeMessage('room')
  @FreqLimit({ name: 'slots', concurrency: 1, key: '{body.room}', holdFor: 'connection' })
  room() {
    return reply('entered');
  }
}

@WebSocketGateway()
@UseInterceptors(RACES)
class Racing {
  @SubscribeMessage('raced')
  @slots
  raced() {
    return reply('ok');
  }
}

const inChat = (handler: keyof Chat) => ({ controller: Chat, handler, rule: 'slots' });

describe.each(LIBRARIES.flatMap((library) => KINDS.map((kind) => [library, kind] as const)))(
  'a slot of messages of %s, %s',
  (library, kind) => {
    const start = () => startGateways('express', library, [Chat], limitsIn(kind, suite));

    it('is taken until the handler has ended', async () => {
      const { app, url } = await start();
      const client = await connect(library, url);
      client.send('slow');
      await work.untilRunning(1);
      expect(await client.request('slow')).toEqual({ event: 'exception', data: busy });
      expect(await slotsTaken(app, inChat('slow'))).toBe(1);
      work.finish();
      expect(await client.next()).toEqual(reply('done'));
      await untilTaken(app, inChat('slow'), 0);
      await client.request('thrown');
      await untilTaken(app, inChat('thrown'), 0);
      await client.request('cached');
      await untilTaken(app, inChat('cached'), 0);
    });

    it('is taken until an observable completes, or the client leaves', async () => {
      const { app, url } = await start();
      const client = await connect(library, url);
      client.send('ticks');
      await until(() => ticks.observed);
      ticks.next(1);
      expect(await client.next()).toEqual(reply(1));
      expect(await slotsTaken(app, inChat('ticks'))).toBe(1);
      ticks.complete();
      await untilTaken(app, inChat('ticks'), 0);
      client.send('ticks');
      await until(() => ticks.observed);
      ticks.next(1);
      await client.next();
      expect(await slotsTaken(app, inChat('ticks'))).toBe(1);
      client.close();
      await untilTaken(app, inChat('ticks'), 0);
    });

    it('is given up within seconds if a later guard denies the message', async () => {
      LEASE_TIMES.renewEveryMs = 200;
      const { app, url } = await start();
      const client = await connect(library, url);
      await client.request('denied');
      await untilTaken(app, inChat('denied'), 0);
      expect(await slotsTaken(app, inChat('denied'))).toBe(0);
    });

    it('is given up within seconds if an outer interceptor does not wait for the handler', async () => {
      LEASE_TIMES.renewEveryMs = 200;
      const { app, url } = await startGateways('express', library, [Racing], limitsIn(kind, suite));
      const client = await connect(library, url);
      expect(await client.request('raced')).toEqual(reply('raced'));
      await untilTaken(app, { controller: Racing, handler: 'raced', rule: 'slots' }, 0);
    });

    it('of a connection is one for its first messages together, also if there is only one', async () => {
      most = 1;
      const { url } = await start();
      const [first, second] = [await connect(library, url), await connect(library, url)];
      for (let i = 0; i < 3; i++) first.send('alone');
      for (let i = 0; i < 3; i++) expect(await first.next()).toEqual(reply('alone'));
      for (let i = 0; i < 3; i++) second.send('alone');
      for (let i = 0; i < 3; i++) expect(await second.next()).toEqual({ event: 'exception', data: busy });
    });

    it('of a connection lets its messages pass also when more are taken than the limit', async () => {
      most = 2;
      const { url } = await start();
      const [first, second] = [await connect(library, url), await connect(library, url)];
      expect(await first.request('alone')).toEqual(reply('alone'));
      expect(await second.request('alone')).toEqual(reply('alone'));
      most = 1;
      expect(await first.request('alone')).toEqual(reply('alone'));
      expect(await second.request('alone')).toEqual(reply('alone'));
    });

    it('of a connection is one of at most 100, whatever keys its messages have', async () => {
      const { url } = await start();
      const client = await connect(library, url);
      for (let i = 0; i <= 100; i++) client.send('room', { room: `room ${i}` });
      const replies = [];
      for (let i = 0; i <= 100; i++) replies.push(await client.next());
      expect(replies.filter(({ event }) => event === 'reply')).toHaveLength(100);
      expect(replies.filter(({ event }) => event === 'exception')).toEqual([
        { event: 'exception', data: busy },
      ]);
      expect(await client.request('room', { room: 'room 5' })).toEqual(reply('entered'));
    });

    it('of a connection is taken once, and until the client disconnects', async () => {
      const { app, url } = await start();
      const [first, second, third] = [
        await connect(library, url),
        await connect(library, url),
        await connect(library, url),
      ];
      for (let i = 0; i < 3; i++) expect(await first.request('join')).toEqual(reply('joined'));
      expect(await slotsTaken(app, inChat('join'))).toBe(1);
      expect(await second.request('join')).toEqual(reply('joined'));
      expect(await third.request('join')).toEqual({ event: 'exception', data: busy });
      expect(await second.request('join')).toEqual(reply('joined'));
      first.close();
      await untilTaken(app, inChat('join'), 1);
      expect(await third.request('join')).toEqual(reply('joined'));
      closeClients();
      await untilTaken(app, inChat('join'), 0);
    });

    it('of a connection is taken once by messages at the same time', async () => {
      const { app, url } = await start();
      const client = await connect(library, url);
      for (let i = 0; i < 2; i++) client.send('join', { i });
      for (let i = 0; i < 2; i++) await client.next();
      await untilTaken(app, inChat('join'), 1);
      client.close();
      await untilTaken(app, inChat('join'), 0);
      expect(await slotsTaken(app, inChat('join'))).toBe(0);
    });
  },
);

@Controller()
class Messages {
  @MessagePattern('slow')
  @slots
  async slow() {
    await work.run();
    return 'done';
  }
  @MessagePattern('thrown')
  @slots
  thrown(@Payload() text: string) {
    throw new Error(text);
  }
  @MessagePattern('many')
  @slots
  many() {
    return of(1, 2, 3);
  }
  @GrpcMethod('Limits', 'Unary')
  @slots
  async unary({ text }: { text: string }) {
    await work.run();
    return { text };
  }
  @GrpcMethod('Limits', 'Down')
  @slots
  down({ text }: { text: string }) {
    return interval(5).pipe(map((n) => ({ text: `${text}${n}` })));
  }
}

const inMessages = (handler: keyof Messages) => ({ controller: Messages, handler, rule: 'slots' });

describe('a slot of a microservice', () => {
  it.each(KINDS)('is taken until the result has ended, %s', async (kind) => {
    const transport = await transportOf('tcp');
    const parts = { controllers: [Messages], limits: limitsIn(kind, suite) };
    const app = await startMicroservice(transport, parts);
    const client = messageClient(transport);
    const first = client.send('slow', 'a');
    await work.untilRunning(1);
    expect(await client.send('slow', 'b')).toEqual({ error: busy });
    work.finish();
    expect(await first).toBe('done');
    await untilTaken(app, inMessages('slow'), 0);
    await client.send('thrown', 'x');
    await untilTaken(app, inMessages('thrown'), 0);
    await client.send('many', 'x');
    await untilTaken(app, inMessages('many'), 0);
  });

  it('of gRPC is taken until the call has ended or is cancelled', async () => {
    const transport = await grpcTransport();
    const app = await startMicroservice(transport, { controllers: [Messages] });
    const client = grpcClient(transport);
    try {
      const first = client.call('Unary');
      await work.untilRunning(1);
      expect(await client.call('Unary')).toMatchObject({ code: 8, retryAfter: '1' });
      work.finish();
      expect(await first).toMatchObject({ code: 0 });
      await untilTaken(app, inMessages('unary'), 0);
      const cancel = await client.begin('Down');
      expect(await slotsTaken(app, inMessages('down'))).toBe(1);
      cancel();
      await untilTaken(app, inMessages('down'), 0);
    } finally {
      client.close();
    }
  });
});
