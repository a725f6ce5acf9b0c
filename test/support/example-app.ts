import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { FreqLimitModule, FreqLimitService, type RuleCheck } from 'nestjs-freq-limit';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { AuthModule } from '../../examples/http/users.js';
import { type Platform, serve, type TestApp } from './app.js';
import { type Kind, limitsIn } from './kinds.js';

/** Starts an example whose users are in the header `authorization`. In memory, the clock does not move. */
export function startWithUsers(
  platform: Platform,
  kind: Kind,
  suite: { readonly namespace: string },
  parts: ModuleMetadata,
  prepare?: (app: INestApplication) => void,
): Promise<TestApp> {
  const imports = [AuthModule, FreqLimitModule.forRoot(limitsIn(kind, suite))];
  const clock = new TestClock();
  return serve(
    platform,
    { ...parts, imports },
    (builder) => (kind === 'memory' ? useMemoryStore(builder, clock) : builder),
    prepare,
  );
}

/** The units of a rule that count now. */
export async function usedOf(app: INestApplication, check: RuleCheck): Promise<number> {
  const { results } = await app.get(FreqLimitService).peek(check);
  return results[0]!.used;
}
