// Tables for the console.
const two = (value) => (value === null ? '–' : value.toFixed(2));
const one = (value) => (value === null ? '–' : value.toFixed(1));

export function printRate(platform, { perSecond, blocks, rows }) {
  const added = ({ mean, from, to }, digits) =>
    `${mean.toFixed(digits)} (${from.toFixed(digits)} to ${to.toFixed(digits)})`;
  print(
    `\n${platform}, ${perSecond} requests/s: added to each request of the bare application; 95 % intervals over ${blocks} blocks`,
    ['', 'CPU µs', 'of it GC µs', 'p50 ms', 'p99 ms', 'CPU µs in all', 'Redis µs', 'calls', 'non-2xx'],
    rows.map((row) => [
      row.name,
      added(row.cpuUs, 1),
      added(row.gcUs, 1),
      added(row.p50Ms, 3),
      added(row.p99Ms, 3),
      one(row.totalCpuUs),
      one(row.redisUs),
      row.calls.toFixed(3),
      `${(100 * row.denied).toFixed(1)} %`,
    ]),
  );
}

export function printHttp(platform, rows) {
  print(
    `\n${platform}: × ${'the bare application'} (denied: × an application that always throws the 429)`,
    [
      '',
      'requests/s',
      'min–max',
      'app CPU',
      'p50',
      'p99',
      'p50 ms',
      'p99 ms',
      'Redis µs',
      'calls',
      'non-2xx',
    ],
    rows.map((row) => [
      row.name,
      two(row.throughput),
      `${two(row.from)}–${two(row.to)}`,
      two(row.appCpu),
      two(row.p50),
      two(row.p99),
      two(row.p50Ms),
      two(row.p99Ms),
      one(row.redisCpuUs),
      row.calls === null ? '–' : row.calls.toFixed(3),
      `${(100 * (row.refused ?? 0)).toFixed(1)} %${row.broken ? ` ${row.broken} broken` : ''}`,
    ]),
  );
}

export function printStore(sections) {
  for (const { title, base, rows } of sections) {
    print(
      `\n${title}; × ${base}`,
      ['', 'checks/s', 'server CPU', 'client CPU', 'p99', 'checks/s', 'server µs', 'client µs'],
      rows.map((row) => [
        row.name,
        two(row.throughput),
        two(row.serverCpu),
        two(row.clientCpu),
        two(row.p99),
        String(row.perSecond),
        two(row.serverUs),
        two(row.clientUs),
      ]),
    );
  }
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
