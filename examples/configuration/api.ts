import { Controller, type ExecutionContext, Get, Injectable, Module, Post } from '@nestjs/common';
import { FreqLimit, FreqLimitModule, type FreqLimitRule } from 'nestjs-freq-limit';

/** Settings from a file, the environment or a database. */
@Injectable()
export class Settings {
  readonly limits: Record<string, FreqLimitRule> = {
    login: { window: '15m', limit: 5, key: '{body.user}{ip}', countWhen: 'failure' },
    export: { window: '1h', limit: 2, key: '{headers.x-tenant}' },
  };
  readonly office = ['192.0.2.0/24', '2001:db8:1::/48'];
}

/** Requests per hour, by the plan of a tenant. */
export const plans: Record<string, number> = { acme: 3, tiny: 1 };

function perHour(context: ExecutionContext): number {
  const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
  return plans[headers['x-tenant'] ?? ''] ?? 1;
}

@Controller()
export class ApiController {
  @Post('login')
  @FreqLimit('login')
  login() {
    return 'welcome';
  }

  @Get('export')
  @FreqLimit('export', { limit: 1 })
  export() {
    return 'rows';
  }

  @Get('report')
  @FreqLimit({ name: 'plan', window: '1h', limit: perHour, key: '{headers.x-tenant}' })
  report() {
    return 'report';
  }
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Module({
  imports: [
    FreqLimitModule.forRootAsync({
      imports: [SettingsModule],
      inject: [Settings],
      useFactory: (settings: Settings) => ({
        redis: process.env['REDIS_URL'],
        namedRules: settings.limits,
        skipAddresses: settings.office,
        skipUserAgents: [/^HealthCheck\//],
        rules: [{ name: 'everybody', window: '1m', limit: 600, scope: 'app' }],
      }),
    }),
  ],
  controllers: [ApiController],
})
export class AppModule {}
