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
import { type Platform, serve, type TestApp } from './app.js';

export type Library = 'socket.io' | 'ws';
export const LIBRARIES: readonly Library[] = ['socket.io', 'ws'];

/** What a client is told. */
export interface Told {
  readonly event: string;
  readonly data: unknown;
}

/** What gateways of the tests answer. */
export const said = (data: unknown): Told => ({ event: 'said', data });

/** What a client is told of a denial. */
export const denied = (retryAfter = 60) => ({
  event: 'exception',
  data: {
    status: 'error',
    code: 'TOO_MANY_REQUESTS',
    message: `Too many requests. Try again in ${retryAfter} s.`,
    retryAfter,
  },
});

/** A real client of a gateway, of either library. */
export interface Client {
  send(event: string, data?: unknown): void;
  /** Sends, and waits for what is told next. */
  ask(event: string, data?: unknown): Promise<Told>;
  /** What is told next, or has been and was not asked for. */
  next(): Promise<Told>;
  /** Sends so many equal messages, each after the answer to the one before. */
  askTimes(count: number, event: string, data?: unknown): Promise<Told[]>;
  isOpen(): boolean;
  close(): void;
}

const nest = createRequire(import.meta.url).resolve('@nestjs/websockets');
/** Nest 11 puts global guards before no gateway. */
export const HAS_GLOBAL_GUARDS = !nest.includes('nest-11');

const FILTERS = '__exceptionFilters__';
const guarded = new Set<Type>();

/** Nor does it tell clients of ws of exceptions. */
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

/** How a client comes: its query and its headers. */
export interface Arrival {
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

export async function connect(library: Library, url: string, arrival: Arrival = {}): Promise<Client> {
  const client = library === 'ws' ? await connectWs(url, arrival) : await connectIo(url, arrival);
  clients.add(client);
  return client;
}

/** To be called before applications are closed: they wait for their clients. */
export function closeClients(): void {
  for (const client of clients) client.close();
  clients.clear();
}

async function connectWs(url: string, { query = '', headers = {} }: Arrival): Promise<Client> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/?${query}`, { headers });
  const inbox = new Inbox();
  socket.on('message', (text: Buffer) => {
    inbox.put(JSON.parse(text.toString()) as Told);
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

async function connectIo(url: string, { query = '', headers = {} }: Arrival): Promise<Client> {
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

/** What came and was not asked for yet. */
class Inbox {
  private readonly told: Told[] = [];
  private readonly waiting: ((told: Told) => void)[] = [];

  put(told: Told): void {
    const first = this.waiting.shift();
    if (first === undefined) this.told.push(told);
    else first(told);
  }

  next(): Promise<Told> {
    const first = this.told.shift();
    return first === undefined
      ? new Promise((resolve) => this.waiting.push(resolve))
      : Promise.resolve(first);
  }

  client(socket: Pick<Client, 'send' | 'isOpen' | 'close'>): Client {
    const ask = (event: string, data?: unknown): Promise<Told> => {
      socket.send(event, data);
      return this.next();
    };
    return {
      ...socket,
      ask,
      next: () => this.next(),
      askTimes: async (count, event, data) => {
        const told: Told[] = [];
        for (let i = 0; i < count; i++) told.push(await ask(event, data));
        return told;
      },
    };
  }
}
