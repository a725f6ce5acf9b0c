import { openSync, readFileSync, writeSync } from 'node:fs';

/** What a process reports, in the order in which it happened. A process that is killed has reported everything before. */
export type Report =
  /** It sends the call that takes a lease. */
  | { readonly what: 'take'; readonly lease: string; readonly counter: string; readonly atMs: number }
  /** It has the lease, and its work begins. */
  | { readonly what: 'begin'; readonly lease: string; readonly source: string; readonly atMs: number }
  | { readonly what: 'denied'; readonly lease: string; readonly atMs: number }
  /** It sends the call that renews leases. */
  | {
      readonly what: 'renew';
      readonly call: number;
      readonly leases: readonly string[];
      readonly atMs: number;
    }
  /** The answer to it: the leases that were there, and those that were not and now are again. */
  | {
      readonly what: 'renewed';
      readonly call: number;
      readonly kept: readonly string[];
      readonly again: readonly string[];
      readonly atMs: number;
    }
  /** The work has ended: because its signal has aborted it, or by itself. */
  | { readonly what: 'end'; readonly lease: string; readonly isAborted: boolean; readonly atMs: number }
  /** It sends the call that releases the lease. */
  | { readonly what: 'release'; readonly lease: string; readonly atMs: number }
  /** It sends the call that charges an estimate. */
  | {
      readonly what: 'charge';
      readonly id: string;
      readonly kind: string;
      readonly estimate: number;
      readonly actual: number;
      readonly atMs: number;
    }
  /** The answer to it. */
  | { readonly what: 'charged'; readonly id: string; readonly atMs: number }
  /** It sends the call that settles the actual cost. */
  | { readonly what: 'settle'; readonly id: string; readonly atMs: number }
  /** The answer to it. */
  | { readonly what: 'settled'; readonly id: string; readonly atMs: number }
  /** An error that is not the failure of a store. */
  | { readonly what: 'error'; readonly text: string; readonly atMs: number };

type WithoutTime<One> = One extends Report ? Omit<One, 'atMs'> : never;

/** The clock that all processes of a machine share, in milliseconds. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Writes the reports of this process to its file. A report is in the file when this returns. */
export function reporterTo(file: string): (report: WithoutTime<Report>) => void {
  const descriptor = openSync(file, 'a');
  return (report) => {
    writeSync(descriptor, `${JSON.stringify({ ...report, atMs: nowMs() })}\n`);
  };
}

export function reportsIn(file: string): Report[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Report);
}
