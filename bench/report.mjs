// Tables for the console.
const fixed = (value, digits) => (value === null ? '–' : value.toFixed(digits));
const two = (value) => fixed(value, 2);
const one = (value) => fixed(value, 1);

export function printRate(platform, measured) {
  printAdded(platform, measured);
  printSender(measured.sender);
  printBare(platform, measured.groups);
  if (measured.goals.length > 0) printGoals(platform, measured.goals);
}

function printAdded(platform, { blocks, rounds, seconds, seed, rows }) {
  print(
    `\n${platform}, at a fixed rate: added to each request of the bare application of the same process.\n` +
      `Means and 95 % intervals over ${blocks} blocks; in a block, the middle (Hodges-Lehmann) of ${rounds} turns of ` +
      `${seconds} s; seed ${seed}`,
    [
      ...['', 'CPU µs', 'of it GC µs', 'p50 ms', 'p99 ms', 'CPU µs in all', 'Redis µs', 'calls', 'non-2xx'],
      ...['garbage kB', 'requests/s'],
    ],
    rows.map((row) => [
      row.name,
      withEnds(row.cpuUs, 1),
      withEnds(row.gcUs, 1),
      withEnds(row.p50Ms, 3),
      withEnds(row.p99Ms, 3),
      one(row.totalCpuUs),
      one(row.redisUs),
      row.calls.toFixed(3),
      `${(100 * row.denied).toFixed(1)} %`,
      one(row.garbageKb),
      String(row.perSecond),
    ]),
  );
}

function printSender({ turns, retaken, maxLateMs, late }) {
  console.log(
    `Of ${turns} turns, ${retaken} were repeated because the sender was more than ${maxLateMs} ms late ` +
      `(p99); in ${late} it was late again.`,
  );
}

function printBare(platform, groups) {
  print(
    `\n${platform}: the bare application measured again, CPU µs, 99 % intervals`,
    ['', 'CPU µs in all', 'difference', 'requests/s'],
    groups.map(({ group, bareUs, bareAgain, perSecond }) => [
      group,
      one(bareUs),
      withEnds(bareAgain, 1),
      String(perSecond),
    ]),
  );
}

function printGoals(platform, goals) {
  print(
    `\n${platform}: goals, with 95 % intervals (jackknife over the blocks)`,
    ['', 'measured', '', 'goal'],
    goals.map(({ name, unit, goal, ...value }) => [
      name,
      withEnds(value, 2),
      unit,
      goal === undefined ? '' : `≤ ${goal}`,
    ]),
  );
}

/** @param value { mean, from, to }; the ends are null where there was one block */
function withEnds({ mean, from, to }, digits) {
  return `${fixed(mean, digits)} (${fixed(from, digits)} to ${fixed(to, digits)})`;
}

export function printHttp(platform, rows) {
  print(
    `\n${platform}, saturated, a process each: × the bare application (denied: × an application that always throws the 429)`,
    [
      ...['', 'requests/s', '95 % interval', 'app CPU', 'p50', 'p99', 'p50 ms', 'p99 ms'],
      ...['Redis µs', 'calls', 'non-2xx'],
    ],
    rows.map((row) => [
      row.name,
      two(row.throughput),
      `${two(row.from)} to ${two(row.to)}`,
      two(row.appCpu),
      two(row.p50),
      two(row.p99),
      two(row.p50Ms),
      two(row.p99Ms),
      one(row.redisCpuUs),
      fixed(row.calls, 3),
      `${(100 * row.denied).toFixed(1)} %${row.broken ? ` ${row.broken} broken` : ''}`,
    ]),
  );
}

export function printStore(sections) {
  const withEndsOf = (row, field) => {
    const { from, to } = row.intervals[field];
    return `${two(row[field])} (${two(from)} to ${two(to)})`;
  };
  for (const { title, base, rows } of sections) {
    print(
      `\n${title}; × ${base}; medians, and 95 % intervals of the means`,
      ['', 'checks/s', 'server CPU', 'client CPU', 'p99', 'checks/s', 'server µs', 'client µs'],
      rows.map((row) => [
        row.name,
        two(row.throughput),
        withEndsOf(row, 'serverCpu'),
        two(row.clientCpu),
        two(row.p99),
        String(row.perSecond),
        two(row.serverUs),
        withEndsOf(row, 'clientUs'),
      ]),
    );
  }
}

export function printLongest(rows) {
  print(
    '\nHow long the largest calls block Redis, ms',
    ['', 'median', 'longest'],
    rows.map(({ name, medianMs, maxMs }) => [name, two(medianMs), two(maxMs)]),
  );
}

export function printAlgorithms({ kinds, before, peers, settlements, requests, settledPeers }) {
  printByChecks(kinds);
  printBefore(before);
  printPeers(peers);
  printByChecks(settlements);
  printRequests(requests);
  printSettled(settledPeers);
}

function printByChecks(sections) {
  for (const { checks, rows } of sections) {
    print(
      `\n${checks} checks a call, each on a counter of its own, per check; × the minimal script of INCR and PTTL; 95 % intervals`,
      ['', 'Redis CPU', '× fixed window', 'in the script', 'Redis CPU µs', 'in the script µs', 'bytes'],
      rows.map(({ name, bytes, ...row }) => [
        name,
        ...['cpu', 'cpuToFixed', 'script', 'cpuUs', 'scriptUs'].map((field) => withEnds(row[field], 2)),
        String(bytes ?? '–'),
      ]),
    );
  }
}

function printBefore(before) {
  print(
    '\nThe fixed window, × its script before',
    ['', 'Redis CPU', 'in the script', 'before: Redis CPU µs', 'now'],
    before.map(({ checks, state, script, cpu }) => [
      `${checks} checks a call, ${state}`,
      ...[cpu.ratio, script.ratio].map((one) => withEnds(one, 3)),
      ...[cpu.before, cpu.now].map((one) => withEnds(one, 2)),
    ]),
  );
}

function printPeers(peers) {
  print(
    '\nOther libraries, one limit per request',
    ['', 'Redis CPU µs', 'in the script µs', 'calls', 'process CPU µs'],
    peers.flatMap(({ name, ...states }) =>
      ['passes', 'denied'].map((state) => [
        `${name}, ${state}`,
        ...['serverUs', 'scriptUs', 'calls', 'clientUs'].map((field) => withEnds(states[state][field], 2)),
      ]),
    ),
  );
}

function printRequests({ perSecond, rows }) {
  print(
    `\nAdded to a request of the application without a rule, Fastify, ${perSecond} requests/s; 95 % intervals`,
    ['', 'process CPU µs', 'Redis CPU µs', 'calls'],
    rows.map(({ name, processUs, redisUs, calls }) => [
      name,
      ...[processUs, redisUs].map((us) => withEnds(us, 1)),
      withEnds(calls, 2),
    ]),
  );
}

function printSettled(rows) {
  print(
    '\nCharged and settled, one limit per request; 95 % intervals',
    ['', 'Redis CPU µs', 'in the script µs', 'calls', 'process CPU µs'],
    rows.map(({ name, ...costs }) => [
      name,
      ...['serverUs', 'scriptUs', 'calls', 'clientUs'].map((field) => withEnds(costs[field], 2)),
    ]),
  );
}

export function printGrowth(sections) {
  for (const { title, columns, rows } of sections) {
    print(
      `\n${title}`,
      columns,
      rows.map((row) => row.map((cell) => String(cell ?? '–'))),
    );
  }
}

function print(title, head, rows) {
  const widths = head.map((text, i) => Math.max(text.length, ...rows.map((row) => row[i].length)));
  const line = (cells) =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ');
  console.log([title, line(head), ...rows.map(line)].join('\n'));
}
