import type { ExecutionContext } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { EventEmitter } from 'node:events';
import type { ResolvedAdapter } from '../../../src/contexts/adapters.js';
import type { CheckResult } from '../../../src/core/check.js';
import { CONCURRENCY } from '../../../src/core/counter-kind.js';
import { newLeaseId } from '../../../src/core/leases.js';
import type { Store } from '../../../src/core/store.js';
import { MAX_HELD } from '../../../src/leases/connection-end.js';
import { RequestLeases } from '../../../src/leases/request-leases.js';
import type { PlannedRule } from '../../../src/rules/planned-rule.js';
import type { PlannedCheck } from '../../../src/rules/to-checks.js';
import { result } from '../fixtures.js';

class Chat {
  join(): void {}
}

const adapter = { isFieldResolver: () => false } as unknown as ResolvedAdapter;

function callOf(client: object, type = 'ws') {
  const context: ExecutionContext = new ExecutionContextHost([client, {}], Chat, Chat.prototype.join);
  (context as ExecutionContextHost).setType(type as 'ws');
  return { context, adapter };
}

function slotOf(key: string, parts: Partial<PlannedCheck> = {}): PlannedCheck {
  return {
    ...{
      key,
      group: 'fl:',
      text: key,
      name: 'slots',
      windowMs: 15_000,
      kind: CONCURRENCY,
      limit: 1,
      cost: 1,
    },
    ...{ lease: newLeaseId(), block: undefined, countDenied: false, shadow: false, onStoreError: 'memory' },
    rule: { name: 'slots', place: 'here', holdFor: 'connection' } as unknown as PlannedRule,
    aboveShare: undefined,
    ...parts,
  };
}

const rate = slotOf('rate', { lease: undefined, kind: { type: 'fixed-window' } });

describe('the leases of a connection', () => {
  let released: string[];
  let failed: unknown[];
  let leases: RequestLeases;
  let client: EventEmitter;

  beforeEach(() => {
    released = [];
    failed = [];
    const store: Partial<Store> = {
      settle: (checks, results) => {
        released.push(...checks.map(({ key }) => key));
        return [...results];
      },
    };
    leases = new RequestLeases(store as Store, (error) => failed.push(error));
    client = new EventEmitter();
  });
  afterEach(() => client.emit('close'));

  const keysOf = (checks: readonly PlannedCheck[]): string[] => checks.map(({ key }) => key);
  const allowed: CheckResult = result({ concurrency: true });

  /** Takes leases as the guard does, with a store that answers at once. */
  function take(...keys: string[]): PlannedCheck[] {
    const call = callOf(client);
    const checks = leases.prepare(
      keys.map((key) => slotOf(key)),
      call,
    ) as PlannedCheck[];
    leases.hold(
      checks,
      checks.map(({ limit }) => ({ ...allowed, allowed: limit > 0 })),
      call,
    );
    return checks;
  }

  it('need no check once they are held, however many are taken', () => {
    take('a');
    expect(
      keysOf(leases.prepare([rate, slotOf('a'), slotOf('b')], callOf(client)) as PlannedCheck[]),
    ).toEqual(['rate', 'b']);
  });

  it.each([
    ['holds it then', true, []],
    ['is denied', false, ['a']],
  ])('are awaited by later messages of the connection: the first one %s', async (_, isAllowed, expected) => {
    const call = callOf(client);
    const first = await leases.prepare([slotOf('a')], call);
    let answer: (results: CheckResult[]) => void = () => undefined;
    const answered = new Promise<CheckResult[]>((resolve) => (answer = resolve));
    void answered.then((results) => {
      leases.hold(first, results, call);
    });
    leases.noteTaking(first, call, answered);
    const later = leases.prepare([slotOf('a')], callOf(client));
    // neither another lease nor another connection waits
    expect(keysOf(leases.prepare([slotOf('b')], callOf(client)) as PlannedCheck[])).toEqual(['b']);
    const other = new EventEmitter();
    expect(keysOf(leases.prepare([slotOf('a')], callOf(other)) as PlannedCheck[])).toEqual(['a']);
    answer([{ ...allowed, allowed: isAllowed }]);
    expect(keysOf(await later)).toEqual(expected);
  });

  it('are awaited also if the store fails', async () => {
    const call = callOf(client);
    const answered = Promise.reject(new Error('store'));
    leases.noteTaking([slotOf('a')], call, answered);
    expect(keysOf(await leases.prepare([slotOf('a')], call))).toEqual(['a']);
  });

  it('have a maximum, which counts those that are being taken', () => {
    for (let i = 0; i < MAX_HELD - 1; i++) take(`room${i}`);
    const limits = (checks: readonly PlannedCheck[]): number[] => checks.map(({ limit }) => limit);
    expect(
      limits(leases.prepare([slotOf('x'), rate, slotOf('y')], callOf(client)) as PlannedCheck[]),
    ).toEqual([1, 1, 0]);
    leases.noteTaking([slotOf('x')], callOf(client), new Promise(() => undefined));
    expect(limits(leases.prepare([slotOf('y')], callOf(client)) as PlannedCheck[])).toEqual([0]);
    expect(leases.prepare([slotOf('room0')], callOf(client))).toEqual([]);
    client.emit('close');
    expect(released).toHaveLength(MAX_HELD - 1);
  });

  it('are released at once if the client has left before the store has answered', () => {
    const call = callOf(client);
    const checks = leases.prepare([slotOf('a')], call) as PlannedCheck[];
    client.emit('disconnect');
    leases.hold(checks, [allowed], call);
    expect(released).toEqual(['a']);
  });

  it('fail a request without a known end, but not for a shadow rule', () => {
    const call = callOf({}, 'rpc');
    expect(() => leases.prepare([slotOf('a')], call)).toThrow(
      "holdFor is 'connection', but Chat.join has no connection",
    );
    expect(keysOf(leases.prepare([rate, slotOf('a', { shadow: true })], call) as PlannedCheck[])).toEqual([
      'rate',
    ]);
    expect(failed).toEqual([expect.objectContaining({ code: 'FREQ_LIMIT_RULE_FAILED' })]);
  });
});
