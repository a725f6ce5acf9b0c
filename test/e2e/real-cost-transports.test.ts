import { Controller } from '@nestjs/common';
import { Args, Int, Query, Resolver } from '@nestjs/graphql';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { from } from 'rxjs';
import { FreqLimit, FreqLimitCharge, type FreqLimitCharges, type Outcome } from 'nestjs-freq-limit';
import { PLATFORMS } from '../support/app.js';
import { until } from '../support/cluster.js';
import { DRIVERS, execute, startGraphql } from '../support/graphql.js';
import { remaining } from '../support/http.js';
import { KINDS, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import {
  closeMicroservices,
  messageClient,
  startMicroservice,
  transportOf,
} from '../support/microservices.js';
import { redisSuite } from '../support/redis-suite.js';
import { closeClients, connect, LIBRARIES, reply, startGateways } from '../support/sockets.js';
import { usedOf } from '../support/used.js';

const suite = redisSuite();
const log = captureLog();

const tokens = { name: 'tokens', window: '1d', limit: 1_000, key: 'all', cost: 100 } as const;
const settled = { ...tokens, name: 'settled', actualCost: ({ result }: Outcome) => Number(result) } as const;

describe.each(KINDS)('real costs in %s', (kind) => {
  afterEach(closeClients);
  afterEach(closeMicroservices);
  afterEach(() => {
    expect(log.lines).toEqual([]);
  });

  it.each(DRIVERS)('of resolvers on %s', async (driver) => {
    @Resolver()
    class Chat {
      @Query(() => Int)
      @FreqLimit(tokens)
      async charged(
        @FreqLimitCharge('tokens') charge: FreqLimitCharge,
        @Args('used', { type: () => Int }) used: number,
      ) {
        await charge.settle(used);
        return charge.cost;
      }
      @Query(() => Int)
      @FreqLimit(settled)
      @FreqLimit(tokens)
      async both(
        @FreqLimitCharge() { settle }: FreqLimitCharges,
        @Args('used', { type: () => Int }) used: number,
      ) {
        await settle({ tokens: used });
        return used + 1;
      }
      @Query(() => Int)
      @FreqLimit(settled)
      fails() {
        return new Error('returned');
      }
    }
    const { app, url } = await startGraphql(driver, { resolvers: [Chat], limits: limitsIn(kind, suite) });
    const charged = await execute(url, '{ charged(used: 40) }');
    expect([charged.data, remaining(charged)]).toEqual([{ charged: 100 }, { tokens: 960 }]);
    const both = await execute(url, '{ both(used: 40) }');
    expect(both.data).toEqual({ both: 41 });
    expect([await usedOf(app, Chat, 'both', 'tokens'), await usedOf(app, Chat, 'both', 'settled')]).toEqual([
      40, 41,
    ]);
    expect((await execute(url, '{ fails }')).errors).toHaveLength(1);
    expect(await usedOf(app, Chat, 'fails', 'settled')).toBe(100);
  });

  it.each(LIBRARIES)('of messages of %s, also of plain values', async (library) => {
    @WebSocketGateway()
    class Gateway {
      @SubscribeMessage('charged')
      @FreqLimit(tokens)
      async charged(@MessageBody() used: number, @FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        await charge.settle(used);
        return reply(charge.cost);
      }
      @SubscribeMessage('both')
      @FreqLimit({ ...settled, actualCost: ({ result }) => (result as { data: number }).data })
      @FreqLimit(tokens)
      async both(@MessageBody() used: number, @FreqLimitCharge() { settle }: FreqLimitCharges) {
        await settle({ tokens: used });
        return reply(used + 1);
      }
    }
    const { app, url } = await startGateways(PLATFORMS[0]!, library, [Gateway], limitsIn(kind, suite));
    const client = await connect(library, url);
    expect(await client.request('charged', 40)).toEqual(reply(100));
    expect(await usedOf(app, Gateway, 'charged', 'tokens')).toBe(40);
    expect(await client.request('both', 40)).toEqual(reply(41));
    await until(async () => (await usedOf(app, Gateway, 'both', 'settled')) === 41);
    expect(await usedOf(app, Gateway, 'both', 'tokens')).toBe(40);
  });

  it.each(['tcp', 'redis'] as const)('of messages over %s, also of plain values', async (broker) => {
    @Controller()
    class Messages {
      @MessagePattern('charged')
      @FreqLimit(tokens)
      async charged(@Payload() used: number, @FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        await charge.settle(used);
        return charge.cost;
      }
      @MessagePattern('both')
      @FreqLimit(settled)
      @FreqLimit(tokens)
      async both(@Payload() used: number, @FreqLimitCharge() { settle }: FreqLimitCharges) {
        await settle({ tokens: used });
        return used + 1;
      }
      @MessagePattern('values')
      @FreqLimit(settled)
      values() {
        return from([5, 6, 7]);
      }
      @EventPattern('event')
      @FreqLimit(tokens)
      async event(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        await charge.settle(40);
      }
    }
    const transport = await transportOf(broker);
    const app = await startMicroservice(transport, {
      controllers: [Messages],
      limits: limitsIn(kind, suite),
    });
    const client = messageClient(transport);
    const used = (handler: string, rule: string) => usedOf(app, Messages, handler, rule);
    expect(await client.send('charged', 40)).toBe(100);
    expect(await used('charged', 'tokens')).toBe(40);
    expect(await client.send('both', 40)).toBe(41);
    await until(async () => (await used('both', 'settled')) === 41);
    expect(await used('both', 'tokens')).toBe(40);
    expect(await client.send('values', '')).toBe(5);
    await until(async () => (await used('values', 'settled')) === 7);
    await client.emit('event', 40);
    await until(async () => (await used('event', 'tokens')) === 40);
  });
});
