import { Controller, Get } from '@nestjs/common';
import { HealthCheck, HealthCheckService } from '@nestjs/terminus';
import { FreqLimitHealthIndicator, SkipFreqLimit } from 'nestjs-freq-limit';

@Controller('health')
@SkipFreqLimit()
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly limits: FreqLimitHealthIndicator,
  ) {}

  /** Liveness: if it fails, the process is restarted. That does not help against an outage of Redis. */
  @Get('live')
  @HealthCheck()
  isAlive() {
    return this.health.check([]);
  }

  /** Readiness: if it fails, the instance gets no requests. It passes without Redis, with isDegraded: true. */
  @Get('ready')
  @HealthCheck()
  isReady() {
    return this.health.check([() => this.limits.isHealthy()]);
  }

  /** Monitoring: 503 without Redis. No orchestrator calls it. */
  @Get('limits')
  @HealthCheck()
  areLimitsShared() {
    return this.health.check([() => this.limits.isHealthy('freqLimit', { downIfDegraded: true })]);
  }
}
