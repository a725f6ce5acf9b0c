import { unwrapResolverError } from '@apollo/server/errors';
import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { GqlContextType } from '@nestjs/graphql';
import { type GraphQLFormattedError, GraphQLError } from 'graphql';
import { type ExceptionFactory, isFreqLimitExceeded } from 'nestjs-freq-limit';

/** For Apollo: adds the name of the rule to the error that clients get. */
export function formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const original = unwrapResolverError(error);
  if (!isFreqLimitExceeded(original)) return formatted;
  return {
    ...formatted,
    extensions: { ...formatted.extensions, limit: original.verdict.tightest?.name },
  };
}

/** A filter that counts denials of resolvers and rethrows them. */
@Catch()
export class CountDenials implements ExceptionFilter {
  denials = 0;

  catch(error: unknown, host: ArgumentsHost): never {
    if (host.getType<GqlContextType>() === 'graphql' && isFreqLimitExceeded(error)) this.denials++;
    throw error;
  }
}

/** For the option `exceptionFactory` of the module. */
export const slowDown: ExceptionFactory = (verdict) =>
  new GraphQLError('Slow down', {
    extensions: { code: 'SLOW_DOWN', waitMs: verdict.tightest?.retryAfterMs },
  });
