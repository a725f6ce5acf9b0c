import type { ExecutionContext } from '@nestjs/common';
import type { FreqLimitOptions } from 'nestjs-freq-limit';

interface Request {
  readonly user?: { readonly isStaff?: boolean };
}

// protected async shouldSkip(context) { return context.switchToHttp().getRequest().user?.isStaff === true }
export const notForStaff: FreqLimitOptions = {
  skipIf: (context: ExecutionContext) => context.switchToHttp().getRequest<Request>().user?.isStaff === true,
};
