import { Body, Controller, Post } from '@nestjs/common';
import { FreqLimit, FreqLimitCharge, type FreqLimitCharges, type Outcome } from 'nestjs-freq-limit';
import { askModel, type ModelAnswer } from './model.js';

const tokensOf = ({ result }: Outcome) => (result as ModelAnswer).tokens;

@Controller('answers')
export class AnswersController {
  /** An estimate of 500 tokens is charged first. */
  @Post()
  @FreqLimit({
    name: 'tokens',
    window: '1h',
    limit: 20_000,
    cost: 500,
    actualCost: tokensOf,
  })
  ask(@Body() { text }: { text: string }): Promise<ModelAnswer> {
    return askModel(text);
  }

  /** Three meters of one answer. They are settled in one call. */
  @Post('metered')
  @FreqLimit({ name: 'requests', window: '1m', limit: 60 })
  @FreqLimit({ name: 'tokens', window: '1h', limit: 20_000, cost: 500 })
  @FreqLimit({ name: 'cents', window: { calendar: 'month' }, limit: 1_000, cost: 1 })
  async metered(
    @Body() { text }: { text: string },
    @FreqLimitCharge() charges: FreqLimitCharges,
  ): Promise<string> {
    const { answer, tokens } = await askModel(text);
    await charges.settle({ tokens, cents: Math.ceil(tokens / 1_000) });
    return answer;
  }
}
