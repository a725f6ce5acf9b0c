import { createHash } from 'node:crypto';
import { formatError } from '../../core/errors.js';
import type { RedisClient } from './redis-option.js';

/** A Lua script that a server runs by its SHA-1. It adds no command to the client, which other code may use too. */
export class Script {
  private readonly sha1: string;

  constructor(
    private readonly source: string,
    /** Whether the whole script is sent each time, so that no later call overtakes it if the server does not have it. */
    private readonly isSentWhole = false,
  ) {
    this.sha1 = createHash('sha1').update(source).digest('hex');
  }

  /**
   * Runs the script by its SHA-1. A server that does not have it (a new one, a restart, a failover, SCRIPT FLUSH, eviction)
   * answers NOSCRIPT and has run nothing, so the whole script is sent, which also stores it. After any other error the script
   * may have counted, so it is not sent again.
   */
  run(client: RedisClient, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.runBySha(client, keys, args).then(undefined, (error: unknown) => {
      if (!isMissing(error)) throw error;
      return this.runWhole(client, keys, args);
    });
  }

  /** Runs the script by its SHA-1, and fails if the server does not have it. */
  runBySha(client: RedisClient, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (this.isSentWhole) return this.runWhole(client, keys, args);
    return send(client, 'evalshaBuffer', this.sha1, keys, args);
  }

  /** Sends the whole script, which the server stores and runs. */
  runWhole(client: RedisClient, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return send(client, 'evalBuffer', this.source, keys, args);
  }
}

/** The same script for a full server, with a flag that lets it write (Redis ≥ 7). */
export function whenFull(source: string): Script {
  return new Script(`#!lua flags=allow-oom\n${source}`);
}

/** Whether a server does not know flags of scripts. */
export function isOldServer(error: unknown): boolean {
  return formatError(error).includes('compiling');
}

/** Whether the server does not have the script, so that nothing was run. */
export function isMissing(error: unknown): boolean {
  return formatError(error).startsWith('NOSCRIPT');
}

/** The replies are bytes, because the scripts pack their numbers. */
type ScriptCommand = 'evalshaBuffer' | 'evalBuffer';

/** Each client has these methods: `isClient` has checked those that were passed. */
type ScriptClient = Required<Pick<RedisClient, ScriptCommand>>;

function send(
  client: RedisClient,
  command: ScriptCommand,
  script: string,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const call = poolsCalls(client) ? callAlone : callPlainly;
  return call(client, command, script, keys, args);
}

type SendScript = (
  client: RedisClient,
  command: ScriptCommand,
  script: string,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

const callPlainly: SendScript = (client, command, script, keys, args) =>
  (client as ScriptClient)[command](script, keys.length, ...keys, ...args);

/**
 * A Cluster with `enableAutoPipelining` pools the calls of one turn. Up to ioredis 5.4 it uses the script as the key, and then
 * rejects the pool because its keys belong to several servers.
 */
function poolsCalls(client: RedisClient): boolean {
  if (!client.isCluster) return false;
  const { enableAutoPipelining = false } = (client.options ?? {}) as {
    readonly enableAutoPipelining?: boolean;
  };
  return enableAutoPipelining;
}

const callAlone: SendScript = async (client, command, script, keys, args) => {
  const answers = await client.pipeline?.([[command, script, keys.length, ...keys, ...args]]).exec();
  const [first] = answers ?? [];
  if (first === undefined)
    throw new Error('the client returned nothing for a pipeline; create it without enableAutoPipelining');
  const [error, answer] = first;
  if (error !== null) throw error;
  return answer;
};
