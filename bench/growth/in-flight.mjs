// Requests that are in flight together share calls: the cost of a request, by how many are in flight.
import { ROOMY } from '../apps/decorate.mjs';
import { short } from '../stats.mjs';
import { COST, costOf, urlOf, withService } from './cost.mjs';

const CLIENTS = 20_000;
const NAMES = ['a', 'b', 'c'];

export function inFlight(redis, options, say) {
  return withService({ redis: urlOf(redis) }, (service) => measure(service, redis, options, say));
}

async function measure(service, redis, { rounds, quick }, say) {
  const ask = () => service.consume(checksOf(Math.floor(Math.random() * CLIENTS)));
  const rows = [];
  for (const count of quick ? [200] : [1, 10, 50, 200, 1000]) {
    say(`growth: ${count} requests in flight`);
    const { calls } = await redis.work();
    let asked = 0;
    const counted = () => {
      asked++;
      return ask();
    };
    const cost = await costOf(counted, count, rounds, redis);
    rows.push([count, ...cost, short(((await redis.work()).calls - calls) / asked)]);
  }
  return [
    {
      id: 'in-flight',
      title: `Requests in flight, ${NAMES.length} rules each`,
      columns: ['in flight', ...COST, 'calls/request'],
      rows,
    },
  ];
}

function checksOf(client) {
  return NAMES.map((name) => ({ name, key: client, window: 3600, limit: ROOMY }));
}
