// The tables of docs/how-far-one-redis-goes.md: by name of the block, a function from results.json to Markdown; `undefined` if
// it was not measured.
import { number, table } from './words.mjs';

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
    ['added, MB', 'added MB', decimal],
    ['added, kB per handler', 'kB/handler', decimal],
    ['first request, added ms', 'first request, added ms', decimal],
  ]);
}

/** The cost of a request, by its number of rules. */
function rules(results) {
  return tableOf(results, 'rules', [
    ['rules', 'rules', whole],
    ['own call: Redis µs per request', 'Redis µs/request, own call', decimal],
    ['own call: per rule', 'Redis µs/rule, own call', decimal],
    ['own call: network bytes per request', 'network bytes/request, own call', whole],
    ['shared: Redis µs per request', 'Redis µs/request', decimal],
    ['shared: calls per request', 'calls/request', hundredths],
    ['shared: process µs per request', 'process µs/request', decimal],
    ['shared: per rule', 'process µs/rule', decimal],
  ]);
}

/** The cost of a request for Redis, by how many share a call. */
function load(results) {
  return tableOf(results, 'in-flight', [
    ['requests in flight', 'in flight', whole],
    ['Redis calls per request', 'calls/request', hundredths],
    ['Redis, µs per request', 'Redis µs/request', decimal],
    ['requests per second', 'requests/s', whole],
    ['p99, ms', 'p99 ms', decimal],
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
    decimal(cell(redis, row, 'Redis µs/request')),
    whole(cell(redis, row, 'bytes each')),
    decimal(cell(memory, memory.rows[i], 'process µs/request')),
    whole(cell(memory, memory.rows[i], 'bytes each')),
  ]);
  return table(head, rows);
}

/** The cost for Redis of several processes that charge one counter. */
function processes(results) {
  return tableOf(results, 'processes', [
    ['processes', 'processes', whole],
    ['requests per second of each', 'requests/s each', whole],
    ['Redis calls per request', 'calls/request', hundredths],
    ['Redis, µs per request', 'Redis µs/request', decimal],
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

// a value is null, or not in the section, if it was not measured: its cell stays empty
const written = (digits) => (value) => (Number.isFinite(value) ? number(value, digits) : undefined);
const whole = written(0);
const hundredths = written(2);
const decimal = written(undefined);
