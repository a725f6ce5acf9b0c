import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { UNLIMITED } from '../../../src/core/verdict.js';
import {
  claimSettlement,
  type Decision,
  type HandlerEnd,
  findDecision,
  runWithDecision,
  saveDecision,
  takeUnsettled,
} from '../../../src/decisions/decisions.js';

class Cats {
  find(): void {}
  list(): void {}
}

/** Guards, interceptors and parameter decorators get a context of their own each. */
function contextOf(args: unknown[], type = 'http', name: 'find' | 'list' = 'find'): ExecutionContextHost {
  const context = new ExecutionContextHost(args, Cats, Cats.prototype[name]);
  context.setType(type as 'http');
  return context;
}

const ENDED: HandlerEnd = { succeeded: true, error: undefined };
const decision = (settle?: Decision['settle']): Decision => ({ verdict: { ...UNLIMITED }, settle });

describe('a saved decision', () => {
  it('is found by the other contexts of the same call', () => {
    const args = [{}, {}];
    const saved = decision();
    saveDecision(contextOf(args), saved);
    expect(findDecision(contextOf([...args]))?.verdict).toBe(saved.verdict);
  });

  it.each([
    ['another request', [{}, {}], 'find'],
    ['another handler', undefined, 'list'],
  ] as const)('is not found for %s', (_, args, name) => {
    const own = [{}, {}];
    saveDecision(contextOf(own), decision());
    expect(findDecision(contextOf([...(args ?? own)], 'http', name))).toBeUndefined();
  });

  it('is the last one about the same handler and arguments', () => {
    const args = [{}, {}];
    const [first, second] = [decision(), decision()];
    saveDecision(contextOf(args), first);
    saveDecision(contextOf(args), second);
    expect(findDecision(contextOf(args))?.verdict).toBe(second.verdict);
  });

  it('is found while the handler runs, if no argument belongs to the call alone', () => {
    const args = ['a message'];
    const saved = decision();
    saveDecision(contextOf(args, 'ws'), saved);
    const find = (): unknown => findDecision(contextOf([...args], 'ws'))?.verdict;
    expect(find()).toBeUndefined();
    expect(runWithDecision(contextOf(args, 'ws'), find)).toBe(saved.verdict);
  });
});

describe('a settlement', () => {
  const settled: HandlerEnd[] = [];
  const settle = (end: HandlerEnd): void => void settled.push(end);
  beforeEach(() => (settled.length = 0));

  it('is claimed once', async () => {
    const context = contextOf([{}, {}]);
    saveDecision(context, decision(settle));
    const claimed = claimSettlement(context);
    expect(claimSettlement(context)).toBeUndefined();
    await claimed?.settle(ENDED);
    await claimed?.settle(ENDED);
    expect(settled).toEqual([ENDED]);
    expect(takeUnsettled(context)).toBeUndefined();
  });

  it('is taken at the end of the response, claimed or not, and is then settled there', async () => {
    const context = contextOf([{}, {}]);
    saveDecision(context, decision(settle));
    const claimed = claimSettlement(context);
    const failed = { succeeded: false, error: undefined };
    await takeUnsettled(context)?.settle?.(failed);
    await claimed?.settle(ENDED);
    expect(settled).toEqual([failed]);
    expect(takeUnsettled(context)).toBeUndefined();
  });

  it('is not there for a decision without one', () => {
    const context = contextOf([{}, {}]);
    saveDecision(context, decision());
    expect([claimSettlement(context), takeUnsettled(context)]).toEqual([undefined, undefined]);
  });
});
