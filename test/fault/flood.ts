import type { OnStoreError } from '../../src/core/check.js';
import { plainClient, sweep, uniqueNamespace } from '../support/redis.js';
import { startTypeScript, type TypeScriptProcess } from '../support/typescript-process.js';
import { FarServer } from './standstills.js';

const APP = new URL('flood-app.ts', import.meta.url);
const LOAD = new URL('flood-load.ts', import.meta.url);

export const POLICIES: readonly OnStoreError[] = ['memory', 'allow', 'deny'];
/** The number of requests of a flood that may reach a handler. */
export const LIMIT = 10;

/** Clients that send large bodies, so that the application is blocked again and again. */
export interface Flood {
  readonly platform: 'express' | 'fastify';
  readonly roundTripMs: number;
  /** The number of processes of the application. */
  readonly processes: number;
  /** Of all policies together. */
  readonly connections: number;
  readonly bytes: number;
  readonly forMs: number;
}

/** The number of responses of each policy with each status. */
export type Answers = Record<OnStoreError, Record<string, number>>;

export interface AppReport {
  /** How often the handlers have run. */
  readonly runs: Record<OnStoreError, number>;
  readonly lines: readonly string[];
  /** The longest time for which the process was blocked. */
  readonly stallMs: number;
}

export interface FloodReport extends AppReport {
  readonly answers: Answers;
  /** Counters without an expiry, or with another fault. */
  readonly unsound: readonly string[];
}

/** Floods an application whose Redis is healthy the whole time. */
export async function flooded(flood: Flood): Promise<FloodReport> {
  const server = await FarServer.start(flood.roundTripMs);
  const apps: TypeScriptProcess[] = [];
  try {
    const namespace = uniqueNamespace();
    const args = [flood.platform, String(server.redis.port), namespace];
    for (let i = 0; i < flood.processes; i++) apps.push(startTypeScript(APP, args));
    const ports = await Promise.all(apps.map((app) => app.nextMessage()));
    const answers = await attack(ports.join(','), flood);
    const reports = await Promise.all(
      apps.map((app) => {
        app.process.send('report');
        return app.nextMessage() as Promise<AppReport>;
      }),
    );
    return { answers, ...together(reports), unsound: await faultsOn(server.port, namespace) };
  } finally {
    await Promise.all(apps.map((app) => app.stop()));
    await server.stop();
  }
}

async function faultsOn(port: number, namespace: string): Promise<readonly string[]> {
  const client = plainClient(`redis://127.0.0.1:${port}`);
  try {
    return await sweep(client, namespace);
  } finally {
    client.disconnect();
  }
}

async function attack(ports: string, { connections, bytes, forMs }: Flood): Promise<Answers> {
  const load = startTypeScript(LOAD, [ports, ...[connections, bytes, forMs].map(String)]);
  try {
    return (await load.nextMessage()) as Answers;
  } finally {
    await load.stop();
  }
}

function together(reports: readonly AppReport[]): AppReport {
  const runsOf = (policy: OnStoreError): number => reports.reduce((sum, { runs }) => sum + runs[policy], 0);
  return {
    runs: { memory: runsOf('memory'), allow: runsOf('allow'), deny: runsOf('deny') },
    lines: reports.flatMap(({ lines }) => lines),
    stallMs: Math.max(...reports.map(({ stallMs }) => stallMs)),
  };
}
