import { UseGuards } from '@nestjs/common';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { FreqLimit, FreqLimitGuard, FreqLimitVerdict, type Verdict } from 'nestjs-freq-limit';

@WebSocketGateway()
@UseGuards(FreqLimitGuard) // required on Nest 11, optional on Nest 12
@FreqLimit('1m', 120, '{ip}') // all messages of this gateway together
export class ChatGateway {
  @SubscribeMessage('say')
  @FreqLimit('10s', 5, '{ip}')
  @FreqLimit({ window: '1h', limit: 200, key: 'room:{body.room}', name: 'room' })
  say(@MessageBody() message: { room: string; text: string }) {
    return { event: 'said', data: message.text };
  }

  @SubscribeMessage('left')
  @FreqLimit({ window: '1m', limit: 30, name: 'questions' })
  left(@FreqLimitVerdict() { results }: Verdict) {
    return { event: 'left', data: results.find(({ name }) => name === 'questions')?.remaining };
  }
}
