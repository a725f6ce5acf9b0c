import { Controller, Get, type Type } from '@nestjs/common';
import { subscribe } from 'node:diagnostics_channel';
import type { FreqLimitEvent, FreqLimitOptions } from 'nestjs-freq-limit';
import { FreqLimit, FreqLimitVerdict, type Verdict } from 'nestjs-freq-limit';

@Controller('reports')
export class ReportsController {
  @Get()
  @FreqLimit({ window: '1d', limit: 20, key: '{headers.x-api-key}', name: 'reports' })
  list(@FreqLimitVerdict() { tightest }: Verdict) {
    return { reports: [], left: tightest?.remaining };
  }
}

/** The number of denials by rule name. */
export const denials = new Map<string, number>();

function countDenial({ verdict }: FreqLimitEvent): void {
  const rule = verdict.tightest?.name ?? '';
  denials.set(rule, (denials.get(rule) ?? 0) + 1);
}

/** Options of the module. */
export const hooks: FreqLimitOptions = { onDenied: countDenial };

/** The same for code outside of the application, such as a monitoring agent. */
export function watchDenials(): void {
  subscribe('nestjs-freq-limit:denied', (event) => {
    countDenial(event as FreqLimitEvent);
  });
}

/** A new limit on trial. It denies no request. */
export const tried = { window: '1m', limit: 60, name: 'tried', shadow: true } as const;

/** Rule, milliseconds to wait, and controller of each request that it would have denied. */
export const wouldDeny: [string, number, Type | undefined][] = [];

export const trial: FreqLimitOptions = {
  rules: [tried],
  onVerdict: ({ verdict, context }) => {
    const would = verdict.results.find(({ shadow, allowed }) => shadow === true && !allowed);
    if (would !== undefined) wouldDeny.push([would.name, would.retryAfterMs, context?.getClass()]);
  },
};
