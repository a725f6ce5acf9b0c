import type { CheckResult } from '../../core/check.js';
import { consumeInGroups, type GroupStore, groupChecks } from '../../core/split-request.js';
import { Batch, PendingRequest } from './batch.js';
import type { ConsumeCalls } from './consume-calls.js';
import { Deadline } from './deadline.js';
import { prefixWithTag } from './hash-tags.js';
import type { Settlements } from './settlements.js';

/** How long a slot is taken to be moving after a call has failed because of that. */
const MOVING_MS = 1_000;
const MAX_MOVING = 1_000;

/**
 * Sends batches: each as one call, or as one call for each key while its slot moves from one server to another. Until a slot
 * has moved, its keys are on both servers, so calls with several keys fail. Nothing of such a call was run.
 */
export class BatchSender {
  /** The hash tags whose slot was moving, and how long this is assumed. A failed call for each batch would take its time. */
  private readonly movingUntilMs = new Map<string, number>();

  constructor(
    private readonly calls: ConsumeCalls,
    private readonly settlements: Settlements,
    private readonly timeoutMs: number,
  ) {}

  /** Gives each request of a batch its results or an error. */
  send(batch: Batch, deadline = new Deadline(this.timeoutMs)): void {
    if (this.isMoving(batch)) this.sendByKeys(batch, deadline);
    else this.calls.send(batch, deadline, this.onMoving);
  }

  /** Sends a request in a batch of its own. */
  sendAlone(request: PendingRequest, deadline?: Deadline): Promise<CheckResult[]> {
    this.send(Batch.of(request), deadline);
    return request.promise;
  }

  private isMoving(batch: Batch): boolean {
    if (this.movingUntilMs.size === 0 || !batch.isDivisible) return false;
    return performance.now() < (this.movingUntilMs.get(prefixWithTag(batch.someKey)) ?? 0);
  }

  private readonly onMoving = (batch: Batch, deadline: Deadline): void => {
    if (this.movingUntilMs.size >= MAX_MOVING) this.movingUntilMs.clear();
    this.movingUntilMs.set(prefixWithTag(batch.someKey), performance.now() + MOVING_MS);
    this.sendByKeys(batch, deadline);
  };

  private sendByKeys(batch: Batch, deadline: Deadline): void {
    for (const request of batch.requests) void this.sendByKey(request, deadline);
  }

  private async sendByKey(request: PendingRequest, deadline: Deadline): Promise<void> {
    const { checks, charging } = request;
    const store: GroupStore = {
      consume: (group) => {
        const onTokens = charging ? this.settlements.noteCharges(group, deadline) : undefined;
        return this.sendAlone(new PendingRequest(group, charging, onTokens), deadline);
      },
      settle: (group, results, costs) => this.settlements.settle(group, results, costs, true),
    };
    try {
      const groups = groupChecks(checks, ({ key }) => key);
      request.resolve(await consumeInGroups(groups, store));
    } catch (error) {
      request.reject(error);
    }
  }
}
