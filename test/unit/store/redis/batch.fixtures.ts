import type { Check, CheckResult } from '../../../../src/core/check.js';
import { Batch, type OnTokens, PendingRequest } from '../../../../src/store/redis/batch.js';

/** What a request of a batch was answered. */
interface Answer {
  results?: CheckResult[];
  error?: unknown;
}

/** A batch, and the answers that its requests have got so far. */
export interface AnsweredBatch {
  readonly batch: Batch;
  readonly answers: Answer[];
}

/** A batch of charging requests. */
export function batchOf(...requests: (readonly Check[])[]): AnsweredBatch {
  return batchWith(requests.map((checks) => ({ checks, charging: true })));
}

interface Request {
  readonly checks: readonly Check[];
  readonly charging: boolean;
  readonly onTokens?: OnTokens | undefined;
}

export function batchWith(requests: readonly Request[]): AnsweredBatch {
  const batch = new Batch();
  const answers: Answer[] = requests.map(() => ({}));
  requests.forEach(({ checks, charging, onTokens }, i) => {
    const request = new PendingRequest(checks, charging, onTokens);
    request.resolve = (results) => void (answers[i]!.results = results);
    request.reject = (error) => void (answers[i]!.error = error);
    batch.add(request);
  });
  return { batch, answers };
}
