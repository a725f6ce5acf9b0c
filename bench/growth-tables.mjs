// The tables of docs/how-far-one-redis-goes.md: by name of the block, a function from results.json to Markdown; `undefined` if
// it was not measured.
import { table, twoDigits, whole } from './markdown.mjs';

/** The difference that the library makes to the start of an application. */
function startUp(results) {
  return tableOf(results, 'start-up', [
    ['handlers', 'handlers', whole],
    ['in each controller', 'per controller', whole],
    ['rules on each', 'rules each', whole],
    ['module rules', 'module rules', whole],
    ['start without the library, ms', 'without ms', whole],
    ['added, ms', 'added ms', whole],
    ['added, µs per handler', 'µs/handler', whole],
    ['added, MB', 'added MB', twoDigits],
    ['added, kB per handler', 'kB/handler', twoDigits],
    ['first request, added ms', 'first request, added ms', twoDigits],
  ]);
}

/** The cost of a request, by its number of rules. */
function rules(results) {
  return tableOf(results, 'rules', [
    ['rules', 'rules', whole],
    ['own call: Redis µs per request', 'Redis µs/request, own call', twoDigits],
    ['own call: per rule', 'Redis µs/rule, own call', twoDigits],
    ['own call: network bytes per request', 'network bytes/request, own call', whole],
    ['shared: Redis µs per request', 'Redis µs/request', twoDigits],
    ['shared: calls per request', 'calls/request', twoDigits],
    ['shared: process µs per request', 'process µs/request', twoDigits],
    ['shared: per rule', 'process µs/rule', twoDigits],
  ]);
}

/** The cost of a request for Redis, by how many share a call. */
function load(results) {
  return tableOf(results, 'in-flight', [
    ['requests in flight', 'in flight', whole],
    ['Redis calls per request', 'calls/request', twoDigits],
    ['Redis, µs per request', 'Redis µs/request', twoDigits],
    ['requests per second', 'requests/s', whole],
    ['p99, ms', 'p99 ms', twoDigits],
  ]);
}

/** Cost and memory of counters, in Redis and in the process. */
function clients(results) {
  const [redis, memory] = ['counters-redis', 'counters-memory'].map((id) => sectionOf(results, id));
  if (redis === undefined || memory === undefined) return undefined;
  const head = [
    'counters',
    'Redis, µs per request',
    'Redis, bytes per counter',
    'memory, process µs per request',
    'memory, bytes per counter',
  ];
  const rows = redis.rows.map((row, i) => [
    whole(cell(redis, row, 'counters')),
    twoDigits(cell(redis, row, 'Redis µs/request')),
    whole(cell(redis, row, 'bytes each')),
    twoDigits(cell(memory, memory.rows[i], 'process µs/request')),
    whole(cell(memory, memory.rows[i], 'bytes each')),
  ]);
  return table(head, rows);
}

/** The cost for Redis of several processes that charge one counter. */
function processes(results) {
  return tableOf(results, 'processes', [
    ['processes', 'processes', whole],
    ['requests per second of each', 'requests/s each', whole],
    ['Redis calls per request', 'calls/request', twoDigits],
    ['Redis, µs per request', 'Redis µs/request', twoDigits],
  ]);
}

export const tables = {
  'growth load': load,
  'growth rules': rules,
  'growth processes': processes,
  'growth clients': clients,
  'growth start-up': startUp,
};

/** @param columns for each: its head, the column of the results, and how to write a value */
function tableOf(results, id, columns) {
  const section = sectionOf(results, id);
  if (section === undefined) return undefined;
  return table(
    columns.map(([head]) => head),
    section.rows.map((row) => columns.map(([, column, text]) => text(cell(section, row, column)))),
  );
}

function sectionOf({ growth = [] }, id) {
  return growth.find((section) => section.id === id);
}

function cell({ columns }, row, column) {
  return row?.[columns.indexOf(column)];
}
