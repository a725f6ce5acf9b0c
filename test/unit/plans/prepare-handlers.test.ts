import { Controller, Get, Res, UseInterceptors } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { FreqLimit } from '../../../src/decorators/freq-limit.decorator.js';
import { FreqLimitVerdict } from '../../../src/decorators/freq-limit-verdict.decorator.js';
import {
  ERROR_INTERCEPTOR,
  OUTCOME_INTERCEPTOR,
  VERDICT_INTERCEPTOR,
} from '../../../src/decisions/outcome-interceptor.js';
import { interceptorsOf } from '../../../src/nest/nest-metadata.js';
import { prepareHandlers } from '../../../src/plans/prepare-handlers.js';
import { ofClass, plansOf } from './fake-discovery.js';

const FAILURES = { window: '1m', limit: 5, countWhen: 'failure' } as const;

class Mine {
  intercept(): never {
    throw new Error('not called');
  }
}

@Controller()
class Handlers {
  @Get('plain')
  @FreqLimit('1m', 5)
  plain() {}
  @Get('counted')
  @UseInterceptors(Mine)
  @FreqLimit(FAILURES)
  counted() {}
  @Get('self')
  @FreqLimit(FAILURES)
  self(@Res() response: unknown) {
    return response;
  }
  @MessagePattern('message')
  @FreqLimit('1m', 5)
  message(@FreqLimitVerdict() verdict: unknown) {
    return verdict;
  }
  @Get('route')
  @FreqLimit('1m', 5)
  route(@FreqLimitVerdict() verdict: unknown) {
    return verdict;
  }
}

it('gives each handler the interceptors that its plan needs, once', () => {
  // two applications of one process have the same classes
  for (let i = 0; i < 2; i++)
    prepareHandlers(plansOf({ controllers: [ofClass(Handlers)] }).planKnownClasses());
  const { prototype } = Handlers;
  expect(interceptorsOf(prototype.plain)).toEqual([]);
  expect(interceptorsOf(prototype.counted)).toEqual([OUTCOME_INTERCEPTOR, Mine]);
  expect(interceptorsOf(prototype.self)).toEqual([ERROR_INTERCEPTOR]);
  expect(interceptorsOf(prototype.message)).toEqual([VERDICT_INTERCEPTOR]);
  expect(interceptorsOf(prototype.route)).toEqual([]);
});
