import { type CanActivate, type ExecutionContext, Injectable, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';

interface Plan {
  readonly perMinute: number;
  readonly burst: number;
  readonly perMonth: number;
}

interface Tenant {
  readonly id: string;
  readonly plan: Plan;
  readonly timeZone: string;
}

const FREE: Plan = { perMinute: 60, burst: 10, perMonth: 10_000 };
const LARGE: Plan = { perMinute: 600, burst: 100, perMonth: 1_000_000 };

/** From a database in a real application. */
const TENANTS: readonly Tenant[] = [
  { id: 'tiny', plan: FREE, timeZone: 'Europe/Berlin' },
  { id: 'acme', plan: LARGE, timeZone: 'America/New_York' },
];

interface Request {
  readonly headers: { readonly authorization?: string };
  user?: Tenant;
}

/** Authenticates the tenant: here, by the header alone. */
@Injectable()
class TenantGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const tenant = TENANTS.find(({ id }) => id === request.headers.authorization);
    if (tenant !== undefined) request.user = tenant;
    return tenant !== undefined;
  }
}

@Module({ providers: [{ provide: APP_GUARD, useClass: TenantGuard }] })
export class TenantModule {}

/** The tenant of a request, which the guard has found. */
export function tenantOf(context: ExecutionContext): Tenant {
  return context.switchToHttp().getRequest<{ user: Tenant }>().user;
}
