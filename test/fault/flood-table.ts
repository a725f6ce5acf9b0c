// Prints the results of floods as a Markdown table: node --import ./test/support/typescript.mjs test/fault/flood-table.ts
import { type Flood, flooded, POLICIES } from './flood.js';

const FOR_MS = Number(process.env['FLOOD_SECONDS'] ?? 6) * 1_000;
const HEAD = [
  'application',
  'round trip, ms',
  'processes',
  'policy',
  'requests',
  'handler runs',
  '503',
  'log lines',
  'longest block, ms',
];

const floods = (['express', 'fastify'] as const).flatMap((platform) =>
  [0, 5].flatMap((roundTripMs) =>
    [1, 4].map((processes): Flood => {
      return { platform, roundTripMs, processes, connections: 300, bytes: 95_000, forMs: FOR_MS };
    }),
  ),
);

const show = (cells: readonly (string | number)[]): void => {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
};
show(HEAD);
show(HEAD.map(() => '---'));
for (const flood of floods) {
  const { answers, runs, lines, stallMs } = await flooded(flood);
  for (const policy of POLICIES) {
    const requests = Object.values(answers[policy]).reduce((sum, count) => sum + count, 0);
    const unavailable = answers[policy]['503'] ?? 0;
    const where = [flood.platform, flood.roundTripMs, flood.processes];
    show([...where, policy, requests, runs[policy], unavailable, lines.length, stallMs]);
  }
}
