import {
  Body,
  Controller,
  type ExecutionContext,
  Inject,
  type MessageEvent,
  Module,
  RequestMethod,
  Sse,
} from '@nestjs/common';
import { FreqLimit, FreqLimitCharge, type FreqLimitCharges, FreqLimitModule } from 'nestjs-freq-limit';
import { finalize, from, type Observable } from 'rxjs';
import { AuthModule } from '../http/users.js';
import { Model, type Usage } from './model.js';

/** Not validated: the limits read it before pipes run. */
interface Question {
  readonly prompt?: unknown;
  readonly maxTokens?: unknown;
}

function promptOf({ prompt }: Question): string {
  return typeof prompt === 'string' ? prompt : '';
}

/** The longest answer that a request allows. */
function maxTokensOf({ maxTokens }: Question): number {
  return Math.min(Math.max(Math.ceil(Number(maxTokens) || 500), 1), 4_000);
}

function questionOf(context: ExecutionContext): Question {
  return context.switchToHttp().getRequest<{ body?: Question }>().body ?? {};
}

/** A high estimate: a token for each two characters, and at least one. */
const inputTokens = (context: ExecutionContext) => 1 + Math.ceil(promptOf(questionOf(context)).length / 2);
const outputTokens = (context: ExecutionContext) => maxTokensOf(questionOf(context));

@Controller('chat')
export class ChatController {
  constructor(@Inject(Model) private readonly model: Model) {}

  @Sse('', { method: RequestMethod.POST })
  @FreqLimit({
    name: 'input',
    window: '1m',
    limit: 20_000,
    algorithm: 'token-bucket',
    cost: inputTokens,
    key: '{user.id}',
  })
  @FreqLimit({
    name: 'output',
    window: '1m',
    limit: 4_000,
    algorithm: 'token-bucket',
    cost: outputTokens,
    maxShare: 0.5, // one answer of at most 2,000 tokens
    key: '{user.id}',
  })
  chat(@Body() question: Question, @FreqLimitCharge() charges: FreqLimitCharges): Observable<MessageEvent> {
    const stop = new AbortController();
    const answer = this.answer(question, charges, stop.signal);
    // if the client disconnects, Nest unsubscribes, and the model stops
    return from(answer).pipe(finalize(() => stop.abort()));
  }

  private async *answer(
    question: Question,
    charges: FreqLimitCharges,
    signal: AbortSignal,
  ): AsyncGenerator<MessageEvent> {
    let usage: Usage | undefined;
    try {
      for await (const chunk of this.model.stream(promptOf(question), maxTokensOf(question), signal)) {
        ({ usage } = chunk);
        yield { data: chunk.text };
      }
    } finally {
      // also after a failure or a disconnect: used tokens are charged
      if (usage !== undefined) await charges.settle({ input: usage.input, output: usage.output });
    }
  }
}

/** AuthModule is imported first, so its guard sets the user before the limits are checked. */
@Module({
  imports: [
    AuthModule,
    FreqLimitModule.forRoot({ redis: process.env['REDIS_URL'] ?? false, namespace: 'chat' }),
  ],
  controllers: [ChatController],
  providers: [Model],
})
export class ChatModule {}
