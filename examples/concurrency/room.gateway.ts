import { UseGuards } from '@nestjs/common';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { FreqLimit, FreqLimitGuard } from 'nestjs-freq-limit';

@WebSocketGateway()
@UseGuards(FreqLimitGuard)
export class RoomGateway {
  /** At most three connections of an address may listen at once. */
  @SubscribeMessage('listen')
  @FreqLimit({ name: 'listeners', concurrency: 3, key: '{ip}', holdFor: 'connection' })
  listen() {
    return { event: 'listening', data: true };
  }
}
