import { Controller, Get, Header, Inject, Injectable, Module, StreamableFile } from '@nestjs/common';
import { FreqLimit, FreqLimitModule } from 'nestjs-freq-limit';
import { Readable } from 'node:stream';
import { AuthModule } from '../http/users.js';

/** From a database in a real application. */
@Injectable()
export class Orders {
  async *rows(): AsyncGenerator<string> {
    for (const row of ['id,total\n', '1,20\n', '2,35\n']) yield await Promise.resolve(row);
  }
}

@Controller('exports')
export class ExportsController {
  constructor(@Inject(Orders) private readonly orders: Orders) {}

  @Get()
  @Header('Content-Type', 'text/csv')
  @FreqLimit({ name: 'daily', window: '1d', limit: 20, key: '{user.id}' })
  @FreqLimit({ name: 'exports', concurrency: 2, key: '{user.id}' })
  export() {
    // holds a slot until the client has all rows, or is gone
    return new StreamableFile(Readable.from(this.orders.rows()));
  }
}

@Module({
  imports: [
    AuthModule,
    FreqLimitModule.forRoot({ redis: process.env['REDIS_URL'] ?? false, namespace: 'exports' }),
  ],
  controllers: [ExportsController],
  providers: [Orders],
})
export class ExportsModule {}
