import { type CanActivate, type ExecutionContext, Inject, Injectable, UseGuards } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { FreqLimitGuard } from './freq-limit.guard.js';
import { FREQ_LIMIT_GUARD } from './core/tokens.js';

/**
 * Runs `FreqLimitGuard` before every handler of the application.
 *
 * `overrideGuard` of Nest's testing module replaces guards of `@UseGuards`, but not those registered as `APP_GUARD`. That is
 * why the guard is declared in a `@UseGuards` here, where a test can replace it.
 */
@Injectable()
@UseGuards(FreqLimitGuard)
export class GlobalFreqLimitGuard implements CanActivate {
  static readonly [FREQ_LIMIT_GUARD] = true;
  private guard: CanActivate | undefined;

  constructor(@Inject(ModulesContainer) private readonly modules: ModulesContainer) {}

  canActivate(context: ExecutionContext): ReturnType<CanActivate['canActivate']> {
    this.guard ??= this.find();
    // without a guard no request is allowed
    return this.guard?.canActivate(context) ?? false;
  }

  /** The guard of the `@UseGuards` above, or the one by which a test replaced it, here or as a provider. */
  private find(): CanActivate | undefined {
    const ownModule = [...this.modules.values()].find(
      ({ providers }) => providers.get(GlobalFreqLimitGuard)?.instance === this,
    );
    const found = [ownModule?.injectables, ownModule?.providers].map(
      (instances) => instances?.get(FreqLimitGuard)?.instance as CanActivate | undefined,
    );
    return found.find((one) => one !== undefined && one.constructor !== FreqLimitGuard) ?? found[0];
  }
}
