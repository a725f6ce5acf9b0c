const bench = (file: string) => import(new URL(`../../../bench/${file}`, import.meta.url).href);
const { requireQuiet } = await bench('noise.mjs');
const { blockOf, rowsOf } = await bench('rate-rows.mjs');
const { goalsOf } = await bench('rate-goals.mjs');
const { groupsOf, namesFor } = await bench('groups.mjs');
const { interval, jackknife, mean, middleOf } = await bench('stats.mjs');
const { random, shuffled } = await bench('random.mjs');
const { VARIANTS } = await bench('apps/variants.mjs');

/** CPU µs that each variant adds. */
const ADDED: Record<string, number> = {
  bare: 0,
  'bare again': 0,
  'guard with headers 1': 2,
  'guard with headers 5': 3,
  'guard with evalsha 1 redis': 12,
  'ours 1 memory': 4,
  'ours 5 memory': 9,
  'ours 1 redis': 13,
  'ours 5 redis': 20,
};
const NAMES = Object.keys(ADDED);
const GARBAGE = new Map(NAMES.map((name) => [name, name === 'bare' ? 10 : 12]));
interface Named {
  readonly name: string;
  readonly mean: number;
}

const UNUSED = { gcUs: 0, p50Ms: 0, p99Ms: 0, redisUs: 0, calls: 0, denied: 0 };

/** Four rounds, the third twice as slow; a turn of "ours 5 memory" is disturbed in the first. */
function block(shiftUs: number) {
  const turns = [0, 1, 2, 3].flatMap((round) =>
    NAMES.map((name) => {
      const disturbed = name === 'ours 5 memory' && round === 0 ? 100 : 0;
      const cpuUs = shiftUs + ADDED[name]! + (round === 2 ? 40 : 0) + disturbed;
      return { ...UNUSED, name, round, set: 0, cpuUs };
    }),
  );
  return groups.map(() => blockOf(NAMES, turns, GARBAGE) as unknown);
}

const groups: object[] = groupsOf(NAMES.slice(2)).map((group: object) => ({ ...group, perSecond: 4000 }));

describe('the benchmark at a fixed rate', () => {
  it('finds what each variant adds, in spite of a slow round, a disturbed turn and a slower process', () => {
    const { rows } = rowsOf(groups, [block(30), block(50), block(40)]);

    for (const { name, cpuUs } of rows) expect([name, cpuUs.mean]).toEqual([name, ADDED[name]]);
  });

  it('computes the goals from the blocks', () => {
    const goals: Named[] = goalsOf([block(30), block(50), block(40)]);

    const valueOf = (name: string) => goals.find((one) => one.name === name)?.mean;
    expect(valueOf('memory, 5 limits, added to a guard with the same headers')).toBe(6);
    expect(valueOf('Redis, 1 limit, to one evalsha')).toBe(1.1);
    expect(valueOf('each further limit, Redis')).toBe(1.5);
    expect(valueOf('garbage, ours 1 redis, to bare')).toBe(1.2);
  });

  it('leaves out a goal whose variants were not measured', () => {
    const goals: Named[] = goalsOf([block(30), block(50)]);

    expect(goals.filter(({ name }) => name.startsWith('denied'))).toEqual([]);
  });

  it('refuses figures if the bare application differs from itself', () => {
    const test = (from: number, to: number) => (): void =>
      void requireQuiet([{ group: 'a', bareAgain: { mean: 2, from, to } }]);

    expect(test(1, 3)).toThrow('differs from itself by 1 to 3 µs');
    expect(test(-1, 5)).not.toThrow();
  });

  it('measures each variant with those that it is compared with, and a bare application twice in each group', () => {
    const names: string[] = namesFor('rate', { platform: 'fastify', against: 'another build' });
    const members: { names: string[] }[] = groupsOf(names);

    expect([...new Set(members.flatMap((one) => one.names.slice(2)))].sort()).toEqual([...names].sort());
    const both = ['ours 5 memory', 'guard with headers 5'];
    expect(members.some((one) => both.every((name) => one.names.includes(name)))).toBe(true);
    for (const one of members) expect(one.names.slice(0, 2)).toEqual(['bare', 'bare again']);
    expect(names.every((name) => name in VARIANTS)).toBe(true);
  });

  it('measures no earlier build unless there is one', () => {
    expect(namesFor('rate', { platform: 'fastify' }).join()).not.toContain('before');
  });
});

describe('the statistics of the benchmark', () => {
  it('gives the 95 % interval of Student', () => {
    // t(4) = 2.776, standard error 0.7071
    const { mean: middle, from, to } = interval([1, 2, 3, 4, 5]);

    expect(middle).toBe(3);
    expect(to - middle).toBeCloseTo(1.963, 3);
    expect(middle - from).toBeCloseTo(1.963, 3);
  });

  it('gives the same interval for a mean by the jackknife', () => {
    const blocks = [3, 5, 4, 8];
    const { from, to } = jackknife(blocks, mean);

    expect(from).toBeCloseTo(interval(blocks).from);
    expect(to).toBeCloseTo(interval(blocks).to);
  });

  it('has a middle that one wild value does not move far', () => {
    expect(middleOf([1, 2, 3])).toBe(2);
    expect(middleOf([1, 2, 3, 1000])).toBeLessThan(4);
  });

  it('repeats an order from its seed', () => {
    const order = (seed: number) => shuffled([1, 2, 3, 4, 5, 6, 7, 8], random(seed)) as number[];

    expect(order(7)).toEqual(order(7));
    expect(order(7)).not.toEqual(order(8));
    expect([...order(7)].sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});
