import { Inject } from '@nestjs/common';
import { type OnGatewayConnection, WebSocketGateway } from '@nestjs/websockets';
import { FreqLimitService } from 'nestjs-freq-limit';
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';

@WebSocketGateway()
export class ConnectionsGateway implements OnGatewayConnection {
  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  async handleConnection(client: WebSocket, request: IncomingMessage): Promise<void> {
    const address = request.socket.remoteAddress ?? 'none';
    const { allowed } = await this.limits.consume({ key: ['connect', address], window: '1m', limit: 30 });
    if (!allowed) client.close(1008, 'Too many connections');
  }
}
