import { type INestApplication, type ModuleMetadata, type Type, UseFilters, UseGuards } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { parse } from 'node:querystring';
import { io } from 'socket.io-client';
import { SendExceptions } from '../../examples/websockets/send-exceptions.filter.js';
import { WebSocket } from 'ws';
import {
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitModuleExtras,
  type FreqLimitOptions,
} from 'nestjs-freq-limit';
import { durationInWords } from '../../src/core/duration-text.js';
import { type Platform, serve, type TestApp } from './app.js';

export type Library = 'socket.io' | 'ws';
export const LIBRARIES: readonly Library[] = ['socket.io', 'ws'];

/** A message from the server. */
export interface Received {
  readonly event: string;
  readonly data: unknown;
}

/** The answer of a gateway of the tests. */
export const reply = (data: unknown): Received => ({ event: 'reply', data });

/** The answer to a denied message. */
export const denied = (retryAfter = 60) => ({
  event: 'exception',
  data: {
    status: 'error',
    code: 'TOO_MANY_REQUESTS',
    message: `Too many requests. Try again in ${durationInWords(retryAfter)}.`,
    retryAfter,
  },
});

/** A real client of a gateway, of one of the libraries. */
export interface Client {
  send(event: string, data?: unknown): void;
  /** Sends, and waits for the next message. */
  request(event: string, data?: unknown): Promise<Received>;
  /** The next message that was not yet returned. */
  next(): Promise<Received>;
  /** Sends `count` equal messages, each after the answer to the one before. */
  requestTimes(count: number, event: string, data?: unknown): Promise<Received[]>;
  isOpen(): boolean;
  close(): void;
}

const nest = createRequire(import.meta.url).resolve('@nestjs/websockets');
/** Nest 11 applies global guards to no gateway. */
export const HAS_GLOBAL_GUARDS = !nest.includes('nest-11');

const FILTERS = '__exceptionFilters__';
const guarded = new Set<Type>();

/** It also sends no exceptions to clients of ws. */
function helpNest11(gateway: Type, library: Library): void {
  if (!guarded.has(gateway)) UseGuards(FreqLimitGuard)(gateway);
  guarded.add(gateway);
  const own = ((Reflect.getMetadata(FILTERS, gateway) ?? []) as readonly unknown[]).filter(
    (filter) => filter !== SendExceptions,
  );
  Reflect.defineMetadata(FILTERS, own, gateway);
  if (library === 'ws' && own.length === 0) UseFilters(SendExceptions)(gateway);
}

const clients = new Set<Client>();

/** The query and the headers of a handshake. */
export interface Handshake {
  readonly query?: string;
  readonly headers?: Record<string, string>;
}

/** An application with gateways of a library. */
export async function startGateways(
  platform: Platform,
  library: Library,
  gateways: readonly Type[],
  limits: FreqLimitOptions & FreqLimitModuleExtras = {},
  parts: ModuleMetadata & { readonly prepare?: (app: INestApplication) => void } = {},
): Promise<TestApp> {
  const { prepare, imports = [], providers = [], ...rest } = parts;
  if (!HAS_GLOBAL_GUARDS) for (const gateway of gateways) helpNest11(gateway, library);
  const all = {
    ...rest,
    imports: [FreqLimitModule.forRoot(limits), ...imports],
    providers: [...gateways, ...providers],
  };
  return serve(platform, all, undefined, (app) => {
    app.useWebSocketAdapter(library === 'ws' ? new WsAdapter(app) : new IoAdapter(app));
    prepare?.(app);
  });
}

export async function connect(library: Library, url: string, handshake: Handshake = {}): Promise<Client> {
  const client = library === 'ws' ? await connectWs(url, handshake) : await connectIo(url, handshake);
  clients.add(client);
  return client;
}

/** Call it before applications are closed, since they wait for their clients. */
export function closeClients(): void {
  for (const client of clients) client.close();
  clients.clear();
}

async function connectWs(url: string, { query = '', headers = {} }: Handshake): Promise<Client> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/?${query}`, { headers });
  const inbox = new Inbox();
  socket.on('message', (text: Buffer) => {
    inbox.put(JSON.parse(text.toString()) as Received);
  });
  await once(socket, 'open');
  return inbox.client({
    send: (event, data) => {
      socket.send(JSON.stringify({ event, data }));
    },
    isOpen: () => socket.readyState === WebSocket.OPEN,
    close: () => {
      socket.close();
    },
  });
}

async function connectIo(url: string, { query = '', headers = {} }: Handshake): Promise<Client> {
  const socket = io(url, {
    transports: ['websocket'],
    forceNew: true,
    query: parse(query),
    extraHeaders: headers,
  });
  const inbox = new Inbox();
  socket.onAny((event: string, data: unknown) => {
    inbox.put({ event, data });
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('connect_error', reject);
  });
  return inbox.client({
    send: (event, data) => {
      socket.emit(event, data);
    },
    isOpen: () => socket.connected,
    close: () => {
      socket.disconnect();
    },
  });
}

/** The messages that were not yet returned. */
class Inbox {
  private readonly received: Received[] = [];
  private readonly waiting: ((received: Received) => void)[] = [];

  put(received: Received): void {
    const first = this.waiting.shift();
    if (first === undefined) this.received.push(received);
    else first(received);
  }

  next(): Promise<Received> {
    const first = this.received.shift();
    return first === undefined
      ? new Promise((resolve) => this.waiting.push(resolve))
      : Promise.resolve(first);
  }

  client(socket: Pick<Client, 'send' | 'isOpen' | 'close'>): Client {
    const request = (event: string, data?: unknown): Promise<Received> => {
      socket.send(event, data);
      return this.next();
    };
    return {
      ...socket,
      request,
      next: () => this.next(),
      requestTimes: async (count, event, data) => {
        const received: Received[] = [];
        for (let i = 0; i < count; i++) received.push(await request(event, data));
        return received;
      },
    };
  }
}
