import { type ArgumentsHost, Catch } from '@nestjs/common';
import { BaseRpcExceptionFilter, type RmqContext, RpcException } from '@nestjs/microservices';
import { isFreqLimitExceeded } from 'nestjs-freq-limit';
import { type Observable, of } from 'rxjs';

/** For event handlers: drops a denied event without an error, so no broker delivers it again. */
@Catch(RpcException)
export class DropDenied extends BaseRpcExceptionFilter {
  override catch(exception: RpcException, host: ArgumentsHost): Observable<unknown> {
    return isFreqLimitExceeded(exception) ? of(undefined) : super.catch(exception, host);
  }
}

/** The same for RabbitMQ with `noAck: false`: also acknowledges the message. */
@Catch(RpcException)
export class AcknowledgeDenied extends DropDenied {
  override catch(exception: RpcException, host: ArgumentsHost): Observable<unknown> {
    if (isFreqLimitExceeded(exception)) {
      const rabbit = host.switchToRpc().getContext<RmqContext>();
      const channel = rabbit.getChannelRef() as { ack(message: object): void };
      channel.ack(rabbit.getMessage());
    }
    return super.catch(exception, host);
  }
}
