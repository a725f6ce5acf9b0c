import {
  type ApolloServerPlugin,
  type GraphQLRequestContextDidResolveOperation,
  type GraphQLRequestListener,
  HeaderMap,
} from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import { Inject } from '@nestjs/common';
import { GraphQLError } from 'graphql';
import { fieldExtensionsEstimator, getComplexity, simpleEstimator } from 'graphql-query-complexity';
import { FreqLimitService } from 'nestjs-freq-limit';

/** The GraphQL context, which the options of GraphQLModule make. */
export interface Operation {
  readonly user: { readonly id: string };
}

interface Charge {
  readonly estimate: number;
  settle(cost: number): Promise<void>;
}

/** 1,000 points per minute for each user. */
const POINTS = { name: 'points', window: '1m', limit: 1_000, algorithm: 'token-bucket' } as const;

/** A field costs what its `complexity` says, or 1 and what the fields in it cost. */
const estimators = [fieldExtensionsEstimator(), simpleEstimator({ defaultComplexity: 1 })];

/** Charges the complexity of an operation before it runs, and settles it with the number of fields in its result. */
@Plugin()
export class ComplexityPlugin implements ApolloServerPlugin<Operation> {
  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  requestDidStart(): Promise<GraphQLRequestListener<Operation>> {
    let charge: Charge | undefined;
    return Promise.resolve<GraphQLRequestListener<Operation>>({
      didResolveOperation: async (operation) => {
        charge = await this.chargeFor(operation);
      },
      willSendResponse: async ({ response: { body } }) => {
        // if a resolver fails, the estimate stays charged
        if (charge === undefined || body.kind !== 'single' || body.singleResult.errors !== undefined) return;
        const actual = fieldsIn(body.singleResult.data);
        await charge.settle(actual);
        body.singleResult.extensions = { cost: { estimate: charge.estimate, actual } };
      },
    });
  }

  private async chargeFor(operation: GraphQLRequestContextDidResolveOperation<Operation>): Promise<Charge> {
    const { schema, document, request, operationName, contextValue } = operation;
    const estimate = getComplexity({
      schema,
      query: document,
      variables: request.variables ?? {},
      ...(operationName !== null && { operationName }),
      estimators,
    });
    const check = { ...POINTS, key: contextValue.user.id, cost: estimate };
    const verdict = await this.limits.consume(check, { settle: true });
    if (!verdict.allowed) throw tooManyPoints(estimate, verdict.tightest?.retryAfterMs ?? 0);
    return { estimate, settle: (cost) => verdict.settle(cost) };
  }
}

/** How many fields a result has. */
function fieldsIn(result: unknown): number {
  if (typeof result !== 'object' || result === null) return 0;
  const own = Array.isArray(result) ? 0 : Object.keys(result).length;
  return Object.values(result).reduce<number>((sum, value) => sum + fieldsIn(value), own);
}

function tooManyPoints(cost: number, retryAfterMs: number): GraphQLError {
  const retryAfter = Math.ceil(retryAfterMs / 1_000);
  const headers = new HeaderMap([['retry-after', String(retryAfter)]]);
  return new GraphQLError(`This operation costs ${cost} points. Try again in ${retryAfter} s.`, {
    extensions: { code: 'TOO_MANY_REQUESTS', retryAfter, http: { status: 429, headers } },
  });
}
