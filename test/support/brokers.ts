import { ServerKafka, ServerRMQ } from '@nestjs/microservices';

/** The argument that kafkajs passes a consumer for each message. */
interface Delivered {
  readonly topic: string;
  readonly partition: number;
  readonly message: { key: null; value: Buffer; headers: Record<string, Buffer>; offset: string };
  heartbeat(): Promise<void>;
  pause(): () => void;
}

/** The record that Nest sends to the reply topic. */
interface Answer {
  readonly messages: readonly { readonly headers: Readonly<Record<string, Buffer | undefined>> }[];
}

type EachMessage = (delivered: Delivered) => Promise<void>;

const EVENTS = {
  CONNECT: 'connect',
  DISCONNECT: 'disconnect',
  REBALANCING: 'rebalancing',
  STOP: 'stop',
  CRASH: 'crash',
};

/**
 * One partition of a topic, as a consumer of kafkajs reads it: in order, and a message whose handler fails is
 * delivered again before the next one. kafkajs waits between tries, and starts the consumer again after five; here the
 * message is skipped after `tries`, so that a test ends.
 */
export class Partition {
  /** The function that Nest passes for each message. */
  eachMessage: EachMessage | undefined;
  /** How often each message was delivered. */
  readonly deliveries: number[] = [];
  /** The errors that were sent as replies. */
  readonly errors: unknown[] = [];

  /** @returns how many of the messages were consumed */
  async consume(
    topic: string,
    values: readonly unknown[],
    headers: Record<string, Buffer> = {},
    tries = 3,
  ): Promise<number> {
    for (const [offset, value] of values.entries()) {
      this.deliveries[offset] = 0;
      while (!(await this.deliver(topic, offset, value, headers))) {
        if (this.deliveries[offset] === tries) return offset;
      }
    }
    return values.length;
  }

  private async deliver(
    topic: string,
    offset: number,
    value: unknown,
    headers: Record<string, Buffer>,
  ): Promise<boolean> {
    this.deliveries[offset]!++;
    const message = { key: null, value: Buffer.from(JSON.stringify(value)), headers: { ...headers } };
    try {
      await this.eachMessage?.({
        topic,
        partition: 0,
        message: { ...message, offset: String(offset) },
        heartbeat: () => Promise.resolve(),
        pause: () => () => undefined,
      });
      return true;
    } catch {
      return false;
    }
  }
}

/** Nest's own server for Kafka, with a client that has one partition instead of a broker. */
export class KafkaWithoutBroker extends ServerKafka {
  constructor(private readonly partitions: Partition) {
    super({});
  }

  protected override loadPackage(): never {
    const find = (): Partition => this.partitions;
    const client = { on: () => undefined, events: EVENTS, connect: nothing, disconnect: nothing };
    class Kafka {
      consumer() {
        const run = ({ eachMessage }: { eachMessage: EachMessage }): Promise<void> => {
          find().eachMessage = eachMessage;
          return Promise.resolve();
        };
        return { ...client, subscribe: nothing, run };
      }
      producer() {
        const send = (record: Answer): Promise<void> => {
          for (const { headers } of record.messages) {
            const error = headers['kafka_nest-err'];
            if (error !== undefined) find().errors.push(JSON.parse(error.toString()));
          }
          return Promise.resolve();
        };
        return { ...client, send };
      }
    }
    return { Kafka } as never;
  }
}

/** Nest's own server for RabbitMQ, without a connection: messages are handed to `handleMessage`. */
export class RabbitWithoutBroker extends ServerRMQ {
  override listen(callback: () => void): Promise<void> {
    callback();
    return Promise.resolve();
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }

  protected override loadPackage(): never {
    return {} as never;
  }
}

// Nest 12 loads some packages by this method, which Nest 11 does not have
Object.assign(RabbitWithoutBroker.prototype, { loadPackageSynchronously: () => ({}) });

function nothing(): Promise<void> {
  return Promise.resolve();
}
