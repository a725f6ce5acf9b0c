import { type ArgumentsHost, Catch, HttpException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import type { FreqLimitOptions, FreqLimitRule } from 'nestjs-freq-limit';
import { isFreqLimitExceeded } from 'nestjs-freq-limit';

interface Request {
  readonly headers: { readonly 'accept-language'?: string };
}

/** The message in the language of the client. */
export const inClientLanguage: FreqLimitOptions = {
  message: ({ tightest }, context) => {
    const { headers } = context.switchToHttp().getRequest<Request>();
    const isGerman = headers['accept-language']?.startsWith('de') === true;
    const minutes = Math.ceil((tightest?.retryAfterMs ?? 0) / 60_000);
    // 'in 15 Minuten'
    const wait = new Intl.RelativeTimeFormat(isGerman ? 'de' : 'en').format(minutes, 'minute');
    return isGerman
      ? `Zu viele Anfragen. Bitte ${wait} noch einmal versuchen.`
      : `Too many requests. Try again ${wait}.`;
  },
};

/** A rule with its own status and message. */
export const oneImport: FreqLimitRule = {
  window: '1h',
  limit: 1,
  name: 'import',
  statusCode: 503,
  message: 'An import is already running. You can start the next one in an hour.',
};

/** A limit by account, which strangers can name: its numbers would show how often others tried. */
export const guessesOfAnAccount: FreqLimitRule = {
  window: '15m',
  limit: 10,
  key: '{body.user}',
  name: 'account',
  hidden: true,
};

/** A denial in the error format of this application. */
export const inOurFormat: FreqLimitOptions = {
  exceptionFactory: ({ tightest }) =>
    new HttpException({ error: { code: 'slow_down', rule: tightest?.name } }, 429),
};

/** Logs which rule denied a request. */
@Catch(HttpException)
export class DenialFilter extends BaseExceptionFilter {
  override catch(error: HttpException, host: ArgumentsHost): void {
    if (isFreqLimitExceeded(error)) console.warn('denied by', error.verdict.tightest?.name);
    super.catch(error, host);
  }
}
