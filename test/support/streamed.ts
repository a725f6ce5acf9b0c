import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';

interface FastifyReply {
  readonly raw: ServerResponse;
  send(body: PassThrough): void;
}

/** Begins a response with a stream, as a handler with `@Res()` does. The body is sent as it is written. */
export function beginStream(response: object): { readonly body: PassThrough; readonly raw: ServerResponse } {
  const body = new PassThrough();
  // of a client that has disconnected
  body.on('error', () => undefined);
  if (!('raw' in response)) {
    const raw = response as ServerResponse;
    body.pipe(raw);
    return { body, raw };
  }
  const reply = response as FastifyReply;
  reply.send(body);
  return { body, raw: reply.raw };
}
