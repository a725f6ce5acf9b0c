import type { ExecutionContext } from '@nestjs/common';
import { GONE } from './client-address.js';
import type { ContextAdapter } from './context-adapter.js';
import { grpcCallOf, grpcErrorOf, isGrpcCall, markGrpcDenial, peerAddressOf } from './grpc-call.js';
import { errorPayloadOf } from './error-payload.js';

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
  request: (context) => ({ user: rpcOf(context)?.user, body: payloadOf(context) }),
  address: (context) => {
    const rpc = rpcOf(context);
    if (rpc?.getSocketRef === undefined) return grpcAddressOf(context);
    const socket = rpc.getSocketRef().netSocket;
    // a client must not escape the module's rules by disconnecting
    return socket?.remoteAddress ?? (socket?.destroyed === true ? GONE : undefined);
  },
  toError: async (exception, context) => {
    try {
      const { RpcException } = await import('@nestjs/microservices');
      const refusal = errorPayloadOf(exception);
      const call = grpcCallOf(context);
      if (call === undefined) return new RpcException(refusal);
      return markGrpcDenial(new RpcException(grpcErrorOf(refusal, exception.getStatus(), call)));
    } catch {
      // messages can come by other libraries, without this package
      return exception;
    }
  },
  isClientFacing: false,
};

function rpcOf(context: ExecutionContext): RpcContext | undefined {
  return context.getArgByIndex<RpcContext | undefined>(1);
}

/** A raw gRPC stream (`@GrpcStreamCall`) has no payload yet. */
function payloadOf(context: ExecutionContext): unknown {
  const payload = context.getArgByIndex<unknown>(0);
  return isGrpcCall(payload) ? undefined : payload;
}

function grpcAddressOf(context: ExecutionContext): string | undefined {
  const call = grpcCallOf(context);
  return call && (peerAddressOf(call) ?? (call.cancelled === true ? GONE : undefined));
}
