import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { FreqLimitGuard } from 'nestjs-freq-limit';

interface WithUser {
  readonly user?: { readonly isStaff?: boolean };
}

/** Applies the limits to customers, but not to staff. */
@Injectable()
export class LimitsForCustomers implements CanActivate {
  constructor(private readonly limits: FreqLimitGuard) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { user } = context.switchToHttp().getRequest<WithUser>();
    return user?.isStaff === true || this.limits.canActivate(context);
  }
}
