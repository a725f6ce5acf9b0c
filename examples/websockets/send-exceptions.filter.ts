import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { WsException } from '@nestjs/websockets';
import type { WebSocket } from 'ws';

/** For ws on Nest 11, which sends no exceptions to clients. Nest 12 does. */
@Catch(WsException)
export class SendExceptions implements ExceptionFilter<WsException> {
  catch(exception: WsException, host: ArgumentsHost): void {
    const error = exception.getError();
    const data = typeof error === 'string' ? { status: 'error', message: error } : error;
    host
      .switchToWs()
      .getClient<WebSocket>()
      .send(JSON.stringify({ event: 'exception', data }));
  }
}
