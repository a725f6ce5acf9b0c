import { Body, Controller, type ExecutionContext, Get, Module, Post } from '@nestjs/common';
import { FreqLimit, FreqLimitModule, type Outcome } from 'nestjs-freq-limit';
import { TenantModule, tenantOf } from './tenants.js';

@Controller('orders')
export class OrdersController {
  @Get()
  @FreqLimit({
    name: 'rate',
    window: '1m',
    limit: (context) => tenantOf(context).plan.perMinute,
    algorithm: 'token-bucket',
    burst: (context) => tenantOf(context).plan.burst,
    key: '{user.id}',
  })
  @FreqLimit({
    name: 'quota',
    window: { calendar: 'month', timeZone: (context) => tenantOf(context).timeZone },
    limit: (context) => tenantOf(context).plan.perMonth,
    key: '{user.id}',
  })
  list() {
    return [];
  }

  @Post('export')
  @FreqLimit({ name: 'at-once', concurrency: 2, key: '{user.id}' })
  @FreqLimit({
    name: 'exports',
    window: '1h',
    limit: 3,
    algorithm: 'sliding-window',
    key: '{user.id}',
    countWhen: 'success',
  })
  export() {
    return 'rows';
  }
}

interface Question {
  readonly prompt?: unknown;
  readonly maxTokens?: unknown;
}

function textOf({ prompt }: Question): string {
  return typeof prompt === 'string' ? prompt : '';
}

/** A high estimate: a token for each two characters, and the longest answer that the request allows. */
function tokens(context: ExecutionContext): number {
  const { body = {} } = context.switchToHttp().getRequest<{ body?: Question }>();
  const answer = Math.min(Math.max(Math.ceil(Number(body.maxTokens) || 500), 1), 4_000);
  return Math.ceil(textOf(body).length / 2) + answer;
}

interface Answer {
  readonly text: string;
  readonly usage: { readonly tokens: number };
}

/** What the model has counted. `result` is what the handler has returned. */
const usedTokens = ({ result }: Outcome) => (result as Answer).usage.tokens;

@Controller('answers')
export class AnswersController {
  @Post()
  @FreqLimit({
    name: 'tokens',
    window: '1m',
    limit: 20_000,
    algorithm: 'sliding-window',
    cost: tokens,
    actualCost: usedTokens,
    key: '{user.id}',
  })
  @FreqLimit({
    name: 'budget',
    window: { calendar: 'day', timeZone: 'Europe/Berlin' },
    limit: 500_000,
    cost: tokens,
    actualCost: usedTokens,
    key: '{user.id}',
  })
  answer(@Body() question: Question): Answer {
    const text = `${textOf(question)}?`;
    return { text, usage: { tokens: 2 * text.length } };
  }
}

/** TenantModule is imported first, so its guard runs first. */
@Module({
  imports: [TenantModule, FreqLimitModule.forRoot({ redis: process.env['REDIS_URL'], namespace: 'api' })],
  controllers: [OrdersController, AnswersController],
})
export class ApiModule {}
