/**
 * Why an error will or will not pass:
 * - `'refused'`: the server does not let this user in, or lacks or denies a command. An operator must fix it;
 * - `'misdirected'`: the address leads to no server on which counters can be written. An operator must fix it;
 * - `'outage'`: it may pass by itself.
 */
export type ErrorKind = 'refused' | 'misdirected' | 'outage';

interface KnownError {
  readonly kind: ErrorKind;
  /** What to do. */
  readonly hint: string;
}

const PERMISSIONS =
  '+evalsha +eval +incr +incrby +decrby +pttl +pexpire +pexpireat +pexpiretime +time +get +set +setrange +del ' +
  '+zadd +zcount +zrangebyscore +zrem +zremrangebyscore +info';
const CLUSTER_PERMISSIONS = '+cluster|slots +cluster|shards +readonly +asking';
const NO_DATABASE = 'leave db out and give each application its own namespace';
const USE_A_CLUSTER =
  'the server is part of a Cluster: set redis to { cluster: [nodes] } or to a Cluster client';

/** The first that matches a message counts, so special cases come before general ones. */
const KNOWN: readonly (readonly [RegExp, ErrorKind, hint: string])[] = [
  [/OOM/, 'outage', 'Redis is full: raise maxmemory, or give the limiter its own Redis'],
  [
    /unknown command\W+info\b/i,
    'refused',
    'INFO is renamed or disabled on the server: set enableReadyCheck: false, or enable the command',
  ],
  [
    /unknown command\W+select\b/i,
    'refused',
    `SELECT is renamed or disabled on the server: ${NO_DATABASE}, or enable the command`,
  ],
  [
    /unknown command\W+(auth|hello)\b/i,
    'refused',
    'AUTH is renamed or disabled on the server: leave username and password out, or enable the command',
  ],
  [
    /unknown command\W+sentinel\b/i,
    'misdirected',
    'the server is not a sentinel: list the sentinels, or set host and port of the server itself',
  ],
  [
    /unknown (\w+ )?command/i,
    'refused',
    'a command is renamed or disabled on the server: enable EVALSHA and EVAL, and the commands of the script: INCR, INCRBY, DECRBY, PTTL, PEXPIRE, PEXPIREAT, TIME, GET, SET, SETRANGE, DEL, ZADD, ZCOUNT, ZRANGEBYSCORE, ZREM, ZREMRANGEBYSCORE. A sentinel has none of these: set redis to { sentinels, name }',
  ],
  [
    /'select'/i,
    'refused',
    `the connection is not used, because it would count in database 0: grant +select to the Redis user, or ${NO_DATABASE}`,
  ],
  [
    /DB index is out of range|invalid DB index/i,
    'refused',
    `the server does not have this database: raise \`databases\` in its configuration, or ${NO_DATABASE}`,
  ],
  [
    /No such master/i,
    'misdirected',
    'set name to the name in the configuration of the sentinels: sentinel monitor <name> …',
  ],
  [
    /sentinels?\b.*(NOAUTH|WRONGPASS|invalid password)/,
    'refused',
    'check sentinelUsername and sentinelPassword; username and password are for the server',
  ],
  [
    /NOPERM|can't run this command|No permissions/i,
    'refused',
    `the Redis user lacks a permission. It needs ~<namespace>:* ${PERMISSIONS}; with db also +select; in a Cluster also ${CLUSTER_PERMISSIONS}; before Redis 7 without +pexpiretime; with keyPrefix ~<keyPrefix><namespace>:*`,
  ],
  [/NOAUTH/, 'refused', 'the server needs a password: check the user name and the password'],
  [/WRONGPASS|invalid password/i, 'refused', 'check the user name and the password'],
  [
    /DENIED.*protected mode/i,
    'refused',
    'set a password on the server, or turn its protected-mode off in a network that only you can reach',
  ],
  [
    /WRONGTYPE|not an integer|would overflow/,
    'outage',
    'another program has written to a key in this namespace: delete that key, or choose another namespace',
  ],
  [
    /READONLY/,
    'misdirected',
    'the server is a replica: connect to the primary, or to the sentinels that know it',
  ],
  [
    /nonexistent global variable|attempt to (index|call) /,
    'refused',
    "the server's Lua lacks what the scripts need: use a server that has the Lua libraries cjson, cmsgpack and struct, as Redis and Valkey do",
  ],
  [/LOADING/, 'outage', 'the server is still loading its data'],
  [/BUSY/, 'outage', "another client's script blocks the server"],
  [/MISCONF/, 'outage', 'the server cannot save its data, so it accepts no writes'],
  [/NOREPLICAS/, 'outage', 'the server has too few replicas, so it accepts no writes'],
  [/max number of clients/, 'outage', 'the server has too many connections: raise maxclients'],
  [/CLUSTERDOWN/, 'outage', 'a part of the cluster is down'],
  [
    /cluster support disabled/,
    'misdirected',
    'the server is not part of a Cluster: set redis to its URL or to { host, port }',
  ],
  [
    /Cluster isn't ready/,
    'outage',
    'the cluster names no server for a slot: see CLUSTER SLOTS, and cluster-announce-ip if it lists no addresses',
  ],
  // a Cluster client follows MOVED by itself, and may fail to while slots move
  [/Too many Cluster redirections/, 'outage', 'slots are moving in the cluster'],
  [/CROSSSLOT|MOVED|not allowed in cluster mode/, 'misdirected', USE_A_CLUSTER],
  [/timed out/, 'outage', 'Redis hangs or is too slow, or timeoutMs is too short for the network'],
  [/ENOTFOUND/, 'misdirected', 'this host name does not exist: check host, and the DNS of this machine'],
  [/EAI_AGAIN/, 'outage', 'the DNS of this machine does not answer'],
  [/EACCES/, 'misdirected', 'this process may not open the unix socket: check its owner and mode'],
  [
    /the port expects TLS/,
    'misdirected',
    'use a URL that begins with rediss://, or set tls: {}; for a Cluster in options.redisOptions, for sentinels sentinelTLS',
  ],
  [
    /the port does not use TLS|wrong version number/,
    'misdirected',
    'use a URL that begins with redis://, without tls, or connect to the TLS port of the server',
  ],
  [
    /self.signed certificate|certificate has expired|certificate is not yet valid|unable to (get|verify).*certificate|altnames/i,
    'misdirected',
    'the certificate of the server is not trusted: set tls: { ca } to its authority, and servername if its name differs from host',
  ],
  [
    /Protocol error, got|Unknown RESP type/,
    'misdirected',
    'the server does not speak the protocol of Redis: check host, port and tls',
  ],
];

/** Finds the error with this message among the known ones. */
export function knownError(message: string): KnownError | undefined {
  const found = KNOWN.find(([pattern]) => pattern.test(message));
  return found && { kind: found[1], hint: found[2] };
}
