import { formatError } from '../../core/errors.js';
import { ARGUMENTS } from './without-command.js';

const RIGHTS = '+evalsha +eval +incr +incrby +decrby +pttl +pexpire +pexpiretime +time +get +set +del +info';
const CLUSTER_RIGHTS = '+cluster|slots +cluster|shards +readonly +asking';

/** What to do about what a server refuses. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/OOM/, 'it is full: raise maxmemory, or give the limiter a Redis of its own'],
  [
    /unknown command\W+info\b/i,
    'its INFO is renamed or disabled: set enableReadyCheck: false, or enable the command',
  ],
  [
    /unknown command\W+select\b/i,
    'its SELECT is renamed or disabled: leave db out and give each application its own namespace, or enable the command',
  ],
  [
    /unknown (\w+ )?command/i,
    'a command is renamed or disabled there: enable EVALSHA and EVAL, and what the script calls: INCR, INCRBY, DECRBY, PTTL, PEXPIRE, TIME, GET, SET, DEL',
  ],
  [
    /'select'/i,
    'the connection is not used: give its user +select, or leave db out and give each application its own namespace',
  ],
  [
    /DB index is out of range/i,
    'the server has no such database: raise `databases` in its configuration, or leave db out and give each application its own namespace',
  ],
  [
    /NOPERM|can't run this command|No permissions/i,
    `its user lacks a permission; these suffice: ~<namespace>:* ${RIGHTS}, with a db +select, in a Cluster ${CLUSTER_RIGHTS} too (before Redis 7 without +pexpiretime; with a keyPrefix ~<keyPrefix><namespace>:*)`,
  ],
  [/NOAUTH|WRONGPASS|invalid password/i, 'check the user and the password'],
  [
    /WRONGTYPE|not an integer|would overflow/,
    'something else has written under the namespace: delete the key, or choose another namespace',
  ],
  [/READONLY/, 'it is a replica: name the primary, or the sentinels that know it'],
  [/LOADING/, 'it is still reading its data'],
  [/BUSY/, "another client's script holds it up"],
  [/MISCONF/, 'it cannot save its data, and takes no writes'],
  [/NOREPLICAS/, 'it has too few replicas to take writes'],
  [/CLUSTERDOWN/, 'a part of the cluster is down'],
  [
    /CROSSSLOT|MOVED|not allowed in cluster mode/,
    'it is a Cluster: set redis to { cluster: [nodes] } or a Cluster client',
  ],
  [/in time/, 'it hangs, is too slow, or timeoutMs is too short for the way to it'],
];

/** Shorter arguments are not personal data, and may occur in any text. */
const MIN_ARGUMENT_LENGTH = 6;

/** An error of a server or a client for logs, with a hint on what to do if there is one. */
export function describe(error: unknown): string {
  return withHint(formatError(withoutArguments(error)));
}

/** Adds a hint on what to do to a message, if there is one. */
export function withHint(message: string): string {
  const advice = HINTS.find(([pattern]) => pattern.test(message))?.[1];
  return advice === undefined ? message : `${message} (${advice})`;
}

/** Error messages of servers may contain arguments of the command, and those include keys with addresses and phone numbers. */
function withoutArguments(error: unknown): unknown {
  const { message, code, command } = Object(error) as {
    readonly message?: unknown;
    readonly code?: unknown;
    readonly command?: { readonly args?: unknown };
  };
  if (typeof message !== 'string') return error;
  let text = message.replace(ARGUMENTS, '');
  const args = Array.isArray(command?.args) ? (command.args as unknown[]) : [];
  for (const arg of args)
    if (typeof arg === 'string' && arg.length >= MIN_ARGUMENT_LENGTH) text = text.replaceAll(arg, '…');
  return { message: text, code };
}
