import { Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';

/** The tokens that a model has used so far. */
export interface Usage {
  readonly input: number;
  readonly output: number;
}

export interface Chunk {
  readonly text: string;
  readonly usage: Usage;
}

const ANSWER = ['I', 'am', 'only', 'an', 'example', 'of', 'a', 'language', 'model.'];

/** A fake language model. It streams as the clients of real ones do, and each word is a token. */
@Injectable()
export class Model {
  /** @param signal stops the model: it produces no more tokens, and throws an `AbortError` */
  async *stream(prompt: string, maxTokens: number, signal: AbortSignal): AsyncGenerator<Chunk> {
    const input = prompt.split(/\s+/).filter(Boolean).length;
    for (const [i, word] of ANSWER.slice(0, maxTokens).entries()) {
      await setImmediate(undefined, { signal });
      yield { text: `${word} `, usage: { input, output: i + 1 } };
    }
  }
}
