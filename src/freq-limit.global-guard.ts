import { type CanActivate, type ExecutionContext, Inject, Injectable, UseGuards } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { FreqLimitGuard } from './freq-limit.guard.js';
import { FREQ_LIMIT_GUARD } from './core/tokens.js';

/**
 * Puts `FreqLimitGuard` before every handler of the application.
 *
 * `overrideGuard` of a test replaces guards that stand in a `@UseGuards`, and does not see what is registered as
 * `APP_GUARD`. So the guard is declared in a `@UseGuards` here, where it can be replaced, and taken from there.
 */
@Injectable()
@UseGuards(FreqLimitGuard)
export class GlobalFreqLimitGuard implements CanActivate {
  static readonly [FREQ_LIMIT_GUARD] = true;
  private guard: CanActivate | undefined;

  constructor(@Inject(ModulesContainer) private readonly modules: ModulesContainer) {}

  canActivate(context: ExecutionContext): ReturnType<CanActivate['canActivate']> {
    this.guard ??= this.find();
    // without a guard no request may pass
    return this.guard?.canActivate(context) ?? false;
  }

  /** The guard of the `@UseGuards` above, or the guard with which a test has overridden this one or the injectable one. */
  private find(): CanActivate | undefined {
    const home = [...this.modules.values()].find(
      ({ providers }) => providers.get(GlobalFreqLimitGuard)?.instance === this,
    );
    const found = [home?.injectables, home?.providers].map(
      (all) => all?.get(FreqLimitGuard)?.instance as CanActivate | undefined,
    );
    return found.find((one) => one !== undefined && one.constructor !== FreqLimitGuard) ?? found[0];
  }
}
