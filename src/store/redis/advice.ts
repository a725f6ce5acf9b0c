const RIGHTS = '+evalsha +eval +incr +incrby +decrby +pttl +pexpire +pexpiretime +time +get +set +del +info';
const CLUSTER_RIGHTS = '+cluster|slots +cluster|shards +readonly +asking';

/** What to do about what a server refuses. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/OOM/, 'it is full: raise maxmemory, or give the limiter a Redis of its own'],
  [
    /NOPERM|can't run this command|No permissions/i,
    `its user lacks a permission; these suffice: ~<namespace>:* ${RIGHTS}, in a Cluster ${CLUSTER_RIGHTS} too (before Redis 7 without +pexpiretime)`,
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
  [/CROSSSLOT/, 'it is a cluster: give { cluster: [nodes] } or a Cluster client'],
  [/MOVED/, 'it is a cluster: give { cluster: [nodes] } or a Cluster client'],
  [/in time/, 'it hangs, is too slow, or timeoutMs is too short for the way to it'],
];

/** A message of a server or a client, with what to do about it where that is known. */
export function advised(message: string): string {
  const advice = ADVICE.find(([pattern]) => pattern.test(message))?.[1];
  return advice === undefined ? message : `${message} (${advice})`;
}
