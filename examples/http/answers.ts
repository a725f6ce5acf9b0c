import { type ArgumentsHost, Catch, HttpException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import type { FreqLimitOptions, FreqLimitRule } from 'nestjs-freq-limit';
import { isFreqLimitExceeded } from 'nestjs-freq-limit';

interface Request {
  readonly headers: { readonly 'accept-language'?: string };
}

/** A denial in the caller's language. */
export const inHisLanguage: FreqLimitOptions = {
  message: ({ tightest }, context) => {
    const { headers } = context.switchToHttp().getRequest<Request>();
    const seconds = Math.ceil((tightest?.retryAfterMs ?? 0) / 1000);
    return headers['accept-language']?.startsWith('de')
      ? `Zu viele Anfragen, bitte in ${seconds} s noch einmal`
      : `Too many requests, try again in ${seconds} s`;
  },
};

/** A rule with an answer of its own. */
export const oneImport: FreqLimitRule = {
  window: '1h',
  limit: 1,
  name: 'import',
  statusCode: 503,
  message: 'An import runs already; the next one may begin in an hour',
};

/** A limit by an account that a stranger may name: its numbers are nobody's business. */
export const guessesOfAnAccount: FreqLimitRule = {
  window: '15m',
  limit: 10,
  key: '{body.user}',
  name: 'account',
  hidden: true,
};

/** A denial in the form that all errors of this application have. */
export const inOurForm: FreqLimitOptions = {
  exceptionFactory: ({ tightest }) =>
    new HttpException({ error: { code: 'slow_down', rule: tightest?.name } }, 429),
};

/** Whatever else a denial is to do. */
@Catch(HttpException)
export class DenialFilter extends BaseExceptionFilter {
  override catch(error: HttpException, host: ArgumentsHost): void {
    if (isFreqLimitExceeded(error)) console.warn('denied by', error.verdict.tightest?.name);
    super.catch(error, host);
  }
}
