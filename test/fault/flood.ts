import type { OnStoreError } from '../../src/core/check.js';
import { uniqueNamespace } from '../support/redis.js';
import { startTypeScript, type TypeScriptProcess } from '../support/typescript-process.js';
import { FarServer } from './standstills.js';

const APP = new URL('flood-app.ts', import.meta.url);
const LOAD = new URL('flood-load.ts', import.meta.url);

export const POLICIES: readonly OnStoreError[] = ['memory', 'allow', 'deny'];
/** How many of the requests of a flood may reach a handler. */
export const LIMIT = 10;

/** Clients that keep an application busy with what they send, so that it stands still again and again. */
export interface Flood {
  readonly platform: 'express' | 'fastify';
  readonly roundTripMs: number;
  /** How many processes the application has. */
  readonly processes: number;
  /** Of all policies together. */
  readonly connections: number;
  readonly bytes: number;
  readonly forMs: number;
}

/** How often each policy's requests were answered with a status. */
export type Answers = Record<OnStoreError, Record<string, number>>;

export interface AppReport {
  /** How often the handlers have run. */
  readonly runs: Record<OnStoreError, number>;
  readonly lines: readonly string[];
  /** The longest time for which the process did not run. */
  readonly stallMs: number;
}

export interface FloodReport extends AppReport {
  readonly answers: Answers;
}

/** Floods an application whose Redis is well all the while. */
export async function flooded(flood: Flood): Promise<FloodReport> {
  const server = await FarServer.start(flood.roundTripMs);
  const apps: TypeScriptProcess[] = [];
  try {
    const namespace = uniqueNamespace();
    const args = [flood.platform, String(server.redis.port), namespace];
    for (let i = 0; i < flood.processes; i++) apps.push(startTypeScript(APP, args));
    const ports = await Promise.all(apps.map((app) => app.heard()));
    const answers = await attack(ports.join(','), flood);
    const reports = await Promise.all(
      apps.map((app) => {
        app.process.send('report');
        return app.heard() as Promise<AppReport>;
      }),
    );
    return { answers, ...together(reports) };
  } finally {
    await Promise.all(apps.map((app) => app.stop()));
    await server.stop();
  }
}

async function attack(ports: string, { connections, bytes, forMs }: Flood): Promise<Answers> {
  const load = startTypeScript(LOAD, [ports, ...[connections, bytes, forMs].map(String)]);
  try {
    return (await load.heard()) as Answers;
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
