import { Controller } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { FreqLimit, type FreqLimitOptions, FreqLimitVerdict, type Verdict } from 'nestjs-freq-limit';
import { PLATFORMS } from '../support/app.js';
import { DRIVERS, execute, startGraphql } from '../support/graphql.js';
import { KINDS, limitsIn } from '../support/kinds.js';
import { COUNTERS, type CounterName, hasBlock, THREE } from '../support/limited.js';
import {
  closeMicroservices,
  messageClient,
  startMicroservice,
  transportOf,
} from '../support/microservices.js';
import { redisSuite } from '../support/redis-suite.js';
import { closeClients, connect, LIBRARIES, reply, startGateways } from '../support/sockets.js';

const suite = redisSuite();
const HOUR = 3_600;

/** The wait in a denial of any transport: until a block ends, or until the kind has a unit again. */
function expectDenial(denial: unknown, counter: CounterName): void {
  expect(denial).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
  const { retryAfter } = denial as { retryAfter: number };
  const least = hasBlock(counter) ? 2 * HOUR : counter.includes('bucket') ? HOUR / 3 : HOUR;
  expect(retryAfter).toBeGreaterThan(least - 5);
}

const limitsOf = (kind: (typeof KINDS)[number]): FreqLimitOptions => limitsIn(kind, suite);

describe.each(COUNTERS)('%s', (counter) => {
  const rule = FreqLimit({ ...THREE[counter], key: 'all:x', name: 'x' });

  describe.each(KINDS)('in %s', (kind) => {
    afterEach(closeClients);
    afterEach(closeMicroservices);

    it.each(LIBRARIES)('limits the messages of %s', async (library) => {
      @WebSocketGateway()
      class Gateway {
        @SubscribeMessage('three')
        @rule
        three() {
          return reply('ok');
        }
      }
      const { url } = await startGateways(PLATFORMS[0]!, library, [Gateway], limitsOf(kind));
      const client = await connect(library, url);
      const received = await client.requestTimes(4, 'three');
      expect(received.slice(0, 3)).toEqual([reply('ok'), reply('ok'), reply('ok')]);
      expectDenial(received[3]?.data, counter);
    });

    it('limits the messages of a microservice, with the verdict', async () => {
      @Controller()
      class Messages {
        @MessagePattern('three')
        @rule
        three(@FreqLimitVerdict() { tightest }: Verdict) {
          return tightest?.remaining;
        }
      }
      const transport = await transportOf('tcp');
      await startMicroservice(transport, { controllers: [Messages], limits: limitsOf(kind) });
      const client = messageClient(transport);
      const seen = [];
      for (let i = 0; i < 4; i++) seen.push(await client.send('three', {}));
      expect(seen.slice(0, 3)).toEqual([2, 1, 0]);
      expectDenial((seen[3] as { error: unknown }).error, counter);
    });

    it.each(DRIVERS)('limits the queries of %s', async (driver) => {
      @Resolver()
      class Fields {
        @Query(() => Int, { nullable: true })
        @rule
        three() {
          return 3;
        }
      }
      const { url } = await startGraphql(driver, { resolvers: [Fields], limits: limitsOf(kind) });
      const seen = [];
      for (let i = 0; i < 4; i++) seen.push(await execute(url, '{ three }'));
      expect(seen.map(({ data }) => data?.['three'])).toEqual([3, 3, 3, null]);
      expectDenial(seen[3]?.errors[0], counter);
    });
  });
});
