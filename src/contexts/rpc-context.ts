import type { ExecutionContext } from '@nestjs/common';
import { GONE } from './client-address.js';
import type { ContextAdapter } from './context-adapter.js';
import { grpcCallOf, grpcErrorOf, isGrpcCall, markGrpcError, peerAddressOf } from './grpc-call.js';
import { errorPayloadOf } from './error-payload.js';

/** The common part of the contexts that Nest passes to message handlers together with the payload. */
interface RpcContext {
  readonly user?: unknown;
  /** TCP only: a broker does not report the publisher's address. */
  readonly getSocketRef?: () => { readonly netSocket?: NetSocket };
}

interface NetSocket {
  readonly remoteAddress?: string;
  readonly destroyed?: boolean;
}

/** Microservices: `{body.…}` reads the payload, `{user.…}` the user that a guard has set on the RPC context. */
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
      const payload = errorPayloadOf(exception);
      const call = grpcCallOf(context);
      if (call === undefined) return new RpcException(payload);
      return markGrpcError(new RpcException(grpcErrorOf(payload, exception.getStatus(), call)));
    } catch {
      // other libraries have such contexts too, and do not need @nestjs/microservices
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
