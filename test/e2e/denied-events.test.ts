import { Controller, UseFilters } from '@nestjs/common';
import { jest } from '@jest/globals';
import { Ctx, EventPattern, MessagePattern, Payload, type RmqContext } from '@nestjs/microservices';
import { AcknowledgeDenied, DropDenied } from '../../examples/microservices/drop-denied.filter.js';
import { FreqLimit } from 'nestjs-freq-limit';
import { KafkaWithoutBroker, Partition, RabbitWithoutBroker } from '../support/brokers.js';
import { until } from '../support/cluster.js';
import { captureLog } from '../support/log.js';
import {
  messageClient,
  closeMicroservices,
  startMicroservice,
  transportOf,
} from '../support/microservices.js';
import { uniqueNamespace } from '../support/redis.js';

afterEach(closeMicroservices);

/** A prefix for channels, since all suites share one Redis. */
const ON = uniqueNamespace();

const { errors } = captureLog();
const seen: unknown[] = [];

beforeEach(() => {
  seen.length = 0;
});

@Controller()
class Events {
  @EventPattern(`${ON}.plain`)
  @FreqLimit('1m', 2, 'all')
  plain(@Payload() n: unknown) {
    seen.push(Number(n));
  }
  @EventPattern(`${ON}.dropped`)
  @UseFilters(DropDenied)
  @FreqLimit('1m', 2, 'all')
  dropped(@Payload() n: unknown) {
    seen.push(Number(n));
  }
  @EventPattern(`${ON}.undecided`)
  @UseFilters(DropDenied)
  @FreqLimit({ window: '1m', limit: 1, key: '{body.id}', onMissingKey: 'deny' })
  undecided(@Payload() n: unknown) {
    seen.push(n);
  }
  @MessagePattern(`${ON}.request`)
  @FreqLimit('1m', 1, 'all')
  request() {
    return 'answer';
  }
}

describe('a denied event of Kafka', () => {
  async function startKafka() {
    const partition = new Partition();
    await startMicroservice({ strategy: new KafkaWithoutBroker(partition) }, { controllers: [Events] });
    return partition;
  }

  it('is delivered again and blocks its partition, like every event that fails', async () => {
    const partition = await startKafka();
    expect(await partition.consume(`${ON}.plain`, [1, 2, 3, 4])).toBe(2);
    expect(seen).toEqual([1, 2]);
    expect(partition.deliveries).toEqual([1, 1, 3]);
  });

  it('is dropped by the filter, and the next one is handled', async () => {
    const partition = await startKafka();
    expect(await partition.consume(`${ON}.dropped`, [1, 2, 3, 4])).toBe(4);
    expect(seen).toEqual([1, 2]);
    expect(partition.deliveries).toEqual([1, 1, 1, 1]);
  });

  it('is not dropped by the filter if the limit cannot be checked', async () => {
    const partition = await startKafka();
    expect(await partition.consume(`${ON}.undecided`, [1])).toBe(0);
    expect(seen).toEqual([]);
  });

  it('leaves requests alone: they still get their answer', async () => {
    const partition = await startKafka();
    const headers = {
      kafka_correlationId: Buffer.from('1'),
      kafka_replyTopic: Buffer.from('request.reply'),
      kafka_replyPartition: Buffer.from('0'),
    };
    expect(await partition.consume(`${ON}.request`, [1, 2], headers)).toBe(2);
    await until(() => partition.errors.length > 0);
    expect(partition.errors).toMatchObject([{ code: 'TOO_MANY_REQUESTS' }]);
  });
});

describe('a denied event of RabbitMQ that must be acknowledged', () => {
  @Controller()
  class Acknowledged {
    @EventPattern(`${ON}.plain`)
    @FreqLimit('1m', 1, 'all')
    plain(@Payload() n: unknown, @Ctx() context: unknown) {
      acknowledge(n, context as RmqContext);
    }
    @EventPattern(`${ON}.dropped`)
    @UseFilters(AcknowledgeDenied)
    @FreqLimit('1m', 1, 'all')
    dropped(@Payload() n: unknown, @Ctx() context: unknown) {
      acknowledge(n, context as RmqContext);
    }
  }

  function acknowledge(n: unknown, context: RmqContext): void {
    seen.push(n);
    (context.getChannelRef() as { ack(message: object): void }).ack(context.getMessage());
  }

  it.each([
    ['stays in the queue without a filter', 'plain', [1]],
    ['is acknowledged by the filter', 'dropped', [1, 2]],
  ])('%s', async (_, pattern, acknowledged) => {
    const strategy = new RabbitWithoutBroker({ noAck: false });
    await startMicroservice({ strategy }, { controllers: [Acknowledged] });
    const ack = jest.fn<(message: { n: number }) => void>();
    for (const n of [1, 2]) {
      const content = Buffer.from(JSON.stringify({ pattern: `${ON}.${pattern}`, data: n }));
      await strategy.handleMessage({ content, properties: {}, n }, { ack });
    }
    await new Promise(setImmediate);
    expect(seen).toEqual([1]);
    expect(ack.mock.calls.map(([{ n }]) => n)).toEqual(acknowledged);
  });
});

describe.each(['tcp', 'redis'] as const)('the filter over %s', (broker) => {
  it('drops the event without a log line', async () => {
    const transport = await transportOf(broker);
    await startMicroservice(transport, { controllers: [Events] });
    const client = messageClient(transport);
    for (const n of [1, 2, 3, 4]) await client.emit(`${ON}.dropped`, n);
    // events are handled in the order they come
    expect(await client.send(`${ON}.request`, {})).toBe('answer');
    expect(seen).toEqual([1, 2]);
    expect(errors).toEqual([]);
  });
});
