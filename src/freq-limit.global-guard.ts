import { type CanActivate, type ExecutionContext, Inject, Injectable, UseGuards } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { FreqLimitGuard } from './freq-limit.guard.js';
import { FREQ_LIMIT_GUARD } from './freq-limit.tokens.js';

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

  constructor(@Inject(ModuleRef) private readonly moduleRef: ModuleRef) {}

  canActivate(context: ExecutionContext): ReturnType<CanActivate['canActivate']> {
    this.guard ??= this.moduleRef.get<CanActivate>(FreqLimitGuard, { strict: true });
    return this.guard.canActivate(context);
  }
}
