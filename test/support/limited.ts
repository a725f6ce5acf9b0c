import { All, applyDecorators, Controller, HttpException, Query, type Type } from '@nestjs/common';
import { FreqLimitVerdict, type NamedRule, type Verdict } from 'nestjs-freq-limit';

/** A limit of 3 for each kind of counter. No test reaches the end of its window. */
export const THREE = {
  'a fixed window': { window: '1h', limit: 3 },
  'a sliding window': { window: '1h', limit: 3, algorithm: 'sliding-window' },
  'a token bucket': { window: '1h', limit: 3, algorithm: 'token-bucket' },
  'a calendar window': { window: { calendar: 'year', timeZone: 'Asia/Tokyo' }, limit: 3 },
  'a fixed window with blocks': { window: '1h', limit: 3, blockFor: ['2h', '1d'] },
  'a sliding window with a block': {
    window: '1h',
    limit: 3,
    algorithm: 'sliding-window',
    blockFor: '2h',
  },
  'a token bucket with a block': { window: '1h', limit: 3, algorithm: 'token-bucket', blockFor: '2h' },
} as const satisfies Record<string, NamedRule>;

export type CounterName = keyof typeof THREE;
export const COUNTERS = Object.keys(THREE) as CounterName[];

export function hasBlock(counter: CounterName): boolean {
  return 'blockFor' in THREE[counter];
}

/** A controller whose only handler has these decorators. It returns the verdict, or fails with the status in its query. */
export function limited(...decorators: MethodDecorator[]): Type {
  @Controller()
  class Limited {
    @All()
    @applyDecorators(...decorators)
    call(@FreqLimitVerdict() verdict: Verdict, @Query('status') status?: string) {
      if (status !== undefined) throw new HttpException('failed', Number(status));
      return verdict;
    }
  }
  return Limited;
}
