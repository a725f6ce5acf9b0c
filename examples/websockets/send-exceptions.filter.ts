import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { WsException } from '@nestjs/websockets';
import type { WebSocket } from 'ws';

/** For gateways of ws on Nest 11, which tells their clients of no exception. From 12 on Nest does it. */
@Catch(WsException)
export class TellExceptions implements ExceptionFilter<WsException> {
  catch(exception: WsException, host: ArgumentsHost): void {
    const error = exception.getError();
    const data = typeof error === 'string' ? { status: 'error', message: error } : error;
    host
      .switchToWs()
      .getClient<WebSocket>()
      .send(JSON.stringify({ event: 'exception', data }));
  }
}
