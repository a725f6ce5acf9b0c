// The tables of docs/how-far-one-redis-goes.md: by name of the block, a function from results.json to Markdown; `undefined` if
// it was not measured.

/** What the library adds to the start of an application. */
function startUp(results) {
  return tableOf(results, 'start-up', [
    ['handlers', 'handlers', whole],
    ['in each controller', 'per controller', whole],
    ['rules on each', 'rules each', whole],
    ['module rules', 'module rules', whole],
    ['start without the library, ms', 'without ms', whole],
    ['added, ms', 'added ms', whole],
    ['added, µs per handler', 'µs/handler', whole],
    ['added, MB', 'added MB', rounded],
    ['added, kB per handler', 'kB/handler', rounded],
  ]);
}

/** What the rules of a request cost. */
function rules(results) {
  return tableOf(results, 'rules', [
    ['rules', 'rules', whole],
    ['Redis, µs per request', 'Redis µs/request', rounded],
    ['per rule', 'Redis µs/rule', rounded],
    ['the process, µs per request', 'process µs/request', rounded],
    ['per rule', 'process µs/rule', rounded],
    ['Redis calls per request', 'calls/request', rounded],
    ['bytes on the network per request', 'network bytes/request', whole],
  ]);
}

/** What a request costs Redis, by how many share a call. */
function load(results) {
  return tableOf(results, 'in-flight', [
    ['requests in flight', 'in flight', whole],
    ['Redis calls per request', 'calls/request', rounded],
    ['Redis, µs per check', 'server µs', rounded],
    ['checks per second', 'checks/s', whole],
    ['p99, ms', 'p99 ms', rounded],
  ]);
}

/** Cost and memory of counters, in Redis and in the process. */
function clients(results) {
  const [redis, memory] = ['counters-redis', 'counters-memory'].map((id) => sectionOf(results, id));
  if (redis === undefined || memory === undefined) return undefined;
  const head = [
    'counters',
    'Redis, µs per check',
    'bytes per counter',
    'in memory, µs per check',
    'bytes per counter',
  ];
  const rows = redis.rows.map((row, i) => [
    whole(cell(redis, row, 'counters')),
    rounded(cell(redis, row, 'server µs')),
    whole(cell(redis, row, 'bytes each')),
    rounded(cell(memory, memory.rows[i], 'client µs')),
    whole(cell(memory, memory.rows[i], 'bytes each')),
  ]);
  return markdown(head, rows);
}

/** What several processes on one counter cost Redis. */
function processes(results) {
  return tableOf(results, 'processes', [
    ['processes', 'processes', whole],
    ['requests per second of each', 'requests/s each', whole],
    ['Redis calls per request', 'calls/request', rounded],
    ['Redis, µs per request', 'Redis µs/request', rounded],
    ['allowed', 'allowed of a limit', String],
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
  return markdown(
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

function markdown(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function whole(value) {
  return isNumber(value) ? Math.round(value).toLocaleString('en') : '';
}

/** Two figures below 10, and whole numbers above. */
function rounded(value) {
  if (!isNumber(value)) return '';
  return Math.abs(value) < 10 ? String(Number(value.toPrecision(2))) : whole(value);
}

function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value);
}
