// The least that a check could cost: all costs are compared with it.

const SOURCE = `
local call, reply = redis.call, {}
for i = 1, #KEYS do
  reply[2 * i - 1], reply[2 * i] = call('INCR', KEYS[i]), call('PTTL', KEYS[i])
end
return reply`;

/** @returns calls of the minimal script with the keys of other calls */
export async function minimalCalls(client, calls) {
  const sha1 = await client.script('LOAD', SOURCE);
  return calls.map(([, count, ...rest]) => [sha1, count, ...rest.slice(0, count)]);
}
