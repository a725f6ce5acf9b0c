import { UseGuards } from '@nestjs/common';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { FreqLimit, FreqLimitGuard } from 'nestjs-freq-limit';

@WebSocketGateway()
@UseGuards(FreqLimitGuard) // required on Nest 11, optional on Nest 12
export class ChatGateway {
  @SubscribeMessage('say')
  @FreqLimit({ window: '10s', limit: 10, algorithm: 'token-bucket', burst: 20, blockFor: '1m' })
  say(@MessageBody() message: { text: string }) {
    return { event: 'said', data: message.text };
  }
}
