import { Controller, Get, type Type } from '@nestjs/common';
import { subscribe } from 'node:diagnostics_channel';
import type { FreqLimitEvent, FreqLimitOptions, Verdict } from 'nestjs-freq-limit';
import { FreqLimit, FreqLimitVerdict } from 'nestjs-freq-limit';

/** A handler that tells its caller what he has left. */
@Controller('reports')
export class ReportsController {
  @Get()
  @FreqLimit({ window: '1d', limit: 20, key: '{headers.x-api-key}', name: 'reports' })
  list(@FreqLimitVerdict() { tightest }: Verdict) {
    return { reports: [], left: tightest?.remaining };
  }
}

/** How often each rule has denied, by name. */
export const denials = new Map<string, number>();

function note({ verdict }: FreqLimitEvent): void {
  const rule = verdict.tightest?.name ?? '';
  denials.set(rule, (denials.get(rule) ?? 0) + 1);
}

/** Hooks of the module. */
export const hooks: FreqLimitOptions = { onDenied: note };

/** The same without touching the module: for what watches an application from outside. */
export function watchDenials(): void {
  subscribe('nestjs-freq-limit:denied', (event) => {
    note(event as FreqLimitEvent);
  });
}

/** A limit that is being tried: nobody is denied by it. */
export const tried = { window: '1m', limit: 60, name: 'tried', shadow: true } as const;

/** Who would have been denied by it. */
export const whoWouldBeDenied: FreqLimitOptions = {
  rules: [tried],
  onVerdict: ({ verdict, context }) => {
    const would = verdict.results.find(({ shadow, allowed }) => shadow === true && !allowed);
    if (would !== undefined) wouldDeny.push([would.name, would.used, context?.getClass()]);
  },
};

/** Rule, units used, and the controller. */
export const wouldDeny: [string, number, Type | undefined][] = [];
