import type { ExecutionContext } from '@nestjs/common';
import type { ContextAdapter } from 'nestjs-freq-limit';
import type { IncomingMessage } from 'node:http';

/** A client of socket.io has its request; a gateway of ws must set it in `handleConnection(client, request)`. */
interface Client {
  readonly request?: IncomingMessage;
}

/** Behind exactly one proxy, which appends the address of its client to `X-Forwarded-For`. */
export const BEHIND_ONE_PROXY: ContextAdapter = {
  address: (context: ExecutionContext) => {
    const { request } = context.switchToWs().getClient<Client>();
    return request?.headers['x-forwarded-for']?.toString().split(',').at(-1)?.trim();
  },
};
