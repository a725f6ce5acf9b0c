import { type ChannelCredentials, credentials, loadPackageDefinition, type Metadata } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { type MicroserviceOptions, Transport } from '@nestjs/microservices';
import type { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from './server.js';

export const PROTO = fileURLToPath(new URL('limits.proto', import.meta.url));

/** Methods whose client sends a stream. */
const SENDS_STREAM = ['Up', 'Both', 'RawUp', 'RawBoth'];

/** The end of a call. */
export interface Ended {
  readonly texts: readonly string[];
  readonly code: number;
  readonly details: string;
  readonly retryAfter: string | undefined;
}

interface Status {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

type Call = EventEmitter & { write(message: object): void; end(): void; cancel(): void };
type Method = (...args: unknown[]) => Call;

export interface GrpcClient {
  /** Calls a method with a string, and waits for the end. */
  call(method: string, text?: string): Promise<Ended>;
  /** Calls a method that answers with a stream, and waits for its first message; returns a function that cancels the call. */
  begin(method: string, text?: string): Promise<() => void>;
  close(): void;
}

export async function grpcTransport(): Promise<MicroserviceOptions & { options: { url: string } }> {
  const url = `127.0.0.1:${await freePort()}`;
  return { transport: Transport.GRPC, options: { url, package: 'limits', protoPath: PROTO } };
}

export function grpcClient({ options }: { options: { url: string } }): GrpcClient {
  const { limits } = loadPackageDefinition(loadSync(PROTO)) as unknown as {
    limits: {
      Limits: new (url: string, by: ChannelCredentials) => Record<string, Method> & { close(): void };
    };
  };
  const client = new limits.Limits(options.url, credentials.createInsecure());
  return {
    call: (method, text = 'a') =>
      new Promise((resolve) => {
        const texts: string[] = [];
        const take = (answer?: { text: string }): void => {
          if (answer !== undefined) texts.push(answer.text);
        };
        const onAnswer = (_: unknown, answer?: { text: string }): void => {
          take(answer);
        };
        const isStream = SENDS_STREAM.includes(method);
        const answersStream = ['Down', 'Both', 'RawBoth'].includes(method);
        const args = [
          ...(isStream ? [] : [{ text }]),
          { deadline: Date.now() + 10_000 },
          ...(answersStream ? [] : [onAnswer]),
        ];
        const call = client[method]!(...args);
        call.on('data', take);
        call.on('error', () => undefined);
        call.on('status', ({ code, details, metadata }: Status) => {
          const [retryAfter] = metadata.get('retry-after').map(String);
          // the response of a unary call comes after its status
          setImmediate(() => {
            resolve({ texts, code, details, retryAfter });
          });
        });
        if (!isStream) return;
        call.write({ text });
        call.end();
      }),
    begin: (method, text = 'a') =>
      new Promise((resolve) => {
        const call = client[method]!({ text }, { deadline: Date.now() + 10_000 });
        call.on('error', () => undefined);
        call.once('data', () => {
          resolve(() => {
            call.cancel();
          });
        });
      }),
    close: () => {
      client.close();
    },
  };
}
