import { formatError } from '../../core/errors.js';
import { ARGUMENTS } from './without-command.js';

const PERMISSIONS =
  '+evalsha +eval +incr +incrby +decrby +pttl +pexpire +pexpiretime +time +get +set +del +info';
const CLUSTER_PERMISSIONS = '+cluster|slots +cluster|shards +readonly +asking';

/** What to do about the errors of a server. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/OOM/, 'Redis is full: raise maxmemory, or give the limiter its own Redis'],
  [
    /unknown command\W+info\b/i,
    'INFO is renamed or disabled on the server: set enableReadyCheck: false, or enable the command',
  ],
  [
    /unknown command\W+select\b/i,
    'SELECT is renamed or disabled on the server: leave db out and give each application its own namespace, or enable the command',
  ],
  [
    /unknown (\w+ )?command/i,
    'a command is renamed or disabled on the server: enable EVALSHA and EVAL, and the commands of the script: INCR, INCRBY, DECRBY, PTTL, PEXPIRE, TIME, GET, SET, DEL',
  ],
  [
    /'select'/i,
    'the connection is not used, because it would count in database 0: grant +select to the Redis user, or leave db out and give each application its own namespace',
  ],
  [
    /DB index is out of range/i,
    'the server does not have this database: raise `databases` in its configuration, or leave db out and give each application its own namespace',
  ],
  [
    /NOPERM|can't run this command|No permissions/i,
    `the Redis user lacks a permission. It needs ~<namespace>:* ${PERMISSIONS}; with db also +select; in a Cluster also ${CLUSTER_PERMISSIONS}; before Redis 7 without +pexpiretime; with keyPrefix ~<keyPrefix><namespace>:*`,
  ],
  [/NOAUTH|WRONGPASS|invalid password/i, 'check the user name and the password'],
  [
    /WRONGTYPE|not an integer|would overflow/,
    'another program has written to a key in this namespace: delete that key, or choose another namespace',
  ],
  [/READONLY/, 'the server is a replica: connect to the primary, or to the sentinels that know it'],
  [/LOADING/, 'the server is still loading its data'],
  [/BUSY/, "another client's script blocks the server"],
  [/MISCONF/, 'the server cannot save its data, so it accepts no writes'],
  [/NOREPLICAS/, 'the server has too few replicas, so it accepts no writes'],
  [/CLUSTERDOWN/, 'a part of the cluster is down'],
  [
    /CROSSSLOT|MOVED|not allowed in cluster mode/,
    'the server is part of a Cluster: set redis to { cluster: [nodes] } or to a Cluster client',
  ],
  [/timed out/, 'Redis hangs or is too slow, or timeoutMs is too short for the network'],
];

/** Shorter arguments are not personal data, and may be part of any message. */
const MIN_ARGUMENT_LENGTH = 6;

/** An error of a server or a client as one line for logs, with a hint on what to do if there is one. */
export function describeError(error: unknown): string {
  return withHint(formatError(withoutArguments(error)));
}

/** Adds a hint on what to do to a message, if there is one. */
export function withHint(message: string): string {
  const hint = HINTS.find(([pattern]) => pattern.test(message))?.[1];
  return hint === undefined ? message : `${message} (${hint})`;
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
