import type { ExecutionContext } from '@nestjs/common';
import type { FreqLimitOptions } from 'nestjs-freq-limit';

interface Request {
  readonly user?: { readonly account: { readonly id: string } };
}

// protected async getTracker(req) { return req.user?.account.id ?? req.ip }
export const byAccount: FreqLimitOptions = {
  defaultKey: (context: ExecutionContext) => context.switchToHttp().getRequest<Request>().user?.account.id,
};
