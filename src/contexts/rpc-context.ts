import type { ExecutionContext } from '@nestjs/common';
import { GONE } from './client-address.js';
import type { ContextAdapter } from './context-adapter.js';
import { refusalOf } from './refusal.js';

/** What Nest hands a message handler beside the payload, as far as transports agree on it. */
interface RpcContext {
  readonly user?: unknown;
  /** Of TCP alone: a broker does not tell who published. */
  readonly getSocketRef?: () => { readonly netSocket?: NetSocket };
}

interface NetSocket {
  readonly remoteAddress?: string;
  readonly destroyed?: boolean;
}

/** Microservices: `{body.…}` reads the payload, `{user.…}` what a guard has set on the RPC context. */
export const RPC_CONTEXT: ContextAdapter = {
  request: (context) => ({ user: rpcOf(context)?.user, body: context.getArgByIndex<unknown>(0) }),
  address: (context) => {
    const socket = rpcOf(context)?.getSocketRef?.().netSocket;
    // nobody is to escape the module's rules by leaving
    return socket?.remoteAddress ?? (socket?.destroyed === true ? GONE : undefined);
  },
  toError: async (exception) => {
    try {
      const { RpcException } = await import('@nestjs/microservices');
      return new RpcException(refusalOf(exception));
    } catch {
      // messages can come by other libraries, without this package
      return exception;
    }
  },
  hasClients: false,
};

function rpcOf(context: ExecutionContext): RpcContext | undefined {
  return context.getArgByIndex<RpcContext | undefined>(1);
}
