import type { ExecutionContext } from '@nestjs/common';
import type { ContextAdapter } from 'nestjs-freq-limit';

interface RawMessage {
  readonly properties: { readonly headers?: Readonly<Record<string, unknown>> };
}

/** For handlers that a library calls with `(message, rawMessage)` and the type `'rmq'`. */
export const RMQ: ContextAdapter = {
  request: (context: ExecutionContext) => {
    const [body, raw] = context.getArgs<[unknown, RawMessage?]>();
    return { body, headers: raw?.properties.headers };
  },
  toError: (exception) => new Error(exception.message, { cause: exception }),
  isClientFacing: false,
  handlerMetadata: 'rmq:handler',
};
