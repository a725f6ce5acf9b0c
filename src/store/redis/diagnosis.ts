import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Deadline } from './deadline.js';
import type { Endpoint } from './endpoints.js';

/** How long one server may take. */
const MAX_MS = 400;

/**
 * Opens connections of its own to find out why a client cannot connect. ioredis may report a wrong host name, a refused
 * connection, and a port with or without TLS as a closed connection or as silence.
 * @returns the error of the first endpoint that has one
 */
export async function diagnose(endpoints: readonly Endpoint[]): Promise<Error | undefined> {
  const errors = await Promise.all(endpoints.map(diagnoseOne));
  return errors.find((error) => error !== undefined);
}

async function diagnoseOne(endpoint: Endpoint): Promise<Error | undefined> {
  const socket = connectTo(endpoint);
  try {
    return await new Deadline(MAX_MS).wait(problemOf(socket, endpoint));
  } catch {
    // no answer in time: the server may hang
    return undefined;
  } finally {
    socket.destroy();
  }
}

function connectTo({ host, port, family, path }: Endpoint): Socket {
  const socket = path === undefined ? connectTcp({ host, port, family }) : connectTcp({ path });
  socket.on('error', () => undefined);
  return socket;
}

async function problemOf(socket: Socket, { usesTls }: Endpoint): Promise<Error | undefined> {
  try {
    await once(socket, 'connect');
  } catch (error) {
    return error as Error;
  }
  if (usesTls) return (await answersPlainly(socket)) ? new Error('the port does not use TLS') : undefined;
  return (await answersTls(socket)) ? new Error('the port expects TLS') : undefined;
}

/** Whether the server answers a command that is sent without TLS. */
async function answersPlainly(socket: Socket): Promise<boolean> {
  socket.write('PING\r\n');
  const answer = await next(socket, 'data');
  return Buffer.isBuffer(answer) && /^[+-]/.test(answer.toString('latin1'));
}

/** Whether the server answers the start of a TLS connection. An alert, as for a missing certificate, is an answer too. */
async function answersTls(socket: Socket): Promise<boolean> {
  const secure = connectTls({ socket, rejectUnauthorized: false });
  const answer = await next(secure, 'secureConnect');
  secure.destroy();
  const { code } = Object(answer) as { readonly code?: unknown };
  return answer === undefined || String(code).includes('_ALERT_');
}

/** What an event has, or an error if the connection fails or ends before it. */
function next(socket: Socket, event: 'data' | 'secureConnect'): Promise<unknown> {
  return new Promise((resolve) => {
    socket.once(event, resolve);
    socket.on('error', resolve);
    socket.once('close', () => {
      resolve(new Error('closed'));
    });
  });
}
