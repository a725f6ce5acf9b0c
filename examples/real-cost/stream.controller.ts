import { Controller, type MessageEvent, Query, Sse } from '@nestjs/common';
import { FreqLimit, FreqLimitCharge } from 'nestjs-freq-limit';
import { finalize, from, map, type Observable, tap } from 'rxjs';
import { streamModel } from './model.js';

@Controller('stream')
export class StreamController {
  @Sse()
  @FreqLimit({ name: 'words', window: '1h', limit: 1_000, cost: 100 })
  stream(
    @Query('text') text: string,
    @FreqLimitCharge('words') charge: FreqLimitCharge,
  ): Observable<MessageEvent> {
    let words = 0;
    return from(streamModel(text)).pipe(
      tap(() => words++),
      map((data) => ({ data })),
      // at the end, after an error, and when the client disconnects
      finalize(() => {
        if (words > 0) void charge.settle(words);
      }),
    );
  }
}
