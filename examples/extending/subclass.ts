import { type ExecutionContext, Inject, Injectable, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { FreqLimitGuard, FreqLimitModule, isFreqLimitExceeded } from 'nestjs-freq-limit';

@Injectable()
export class AuditLog {
  readonly denials: string[] = [];

  write(denial: string): Promise<void> {
    this.denials.push(denial);
    return Promise.resolve();
  }
}

/** Writes each denial to the audit log before the client gets its response. A hook would not be awaited. */
@Injectable()
export class AuditedGuard extends FreqLimitGuard {
  @Inject(AuditLog) private readonly audit!: AuditLog;

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    try {
      return await super.canActivate(context);
    } catch (error) {
      if (isFreqLimitExceeded(error)) await this.audit.write(`${error.verdict.tightest?.name} denied`);
      throw error;
    }
  }
}

@Module({
  imports: [FreqLimitModule.forRoot({ globalGuard: false })],
  providers: [AuditLog, { provide: APP_GUARD, useClass: AuditedGuard }],
})
export class AuditedModule {}
