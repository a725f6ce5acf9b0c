import { Inject } from '@nestjs/common';
import { type OnGatewayInit, WebSocketGateway } from '@nestjs/websockets';
import { FreqLimitService } from 'nestjs-freq-limit';
import type { Server } from 'socket.io';

@WebSocketGateway()
export class ConnectionsGateway implements OnGatewayInit {
  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  afterInit(server: Server): void {
    server.use((client, next) => {
      const check = { key: ['connect', client.handshake.address], window: '1m', limit: 30 } as const;
      this.limits.consume(check).then(({ allowed }) => {
        if (allowed) next();
        else next(new Error('Too many connections'));
      }, next);
    });
  }
}
