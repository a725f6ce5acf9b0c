/** What a language model returns. */
export interface ModelAnswer {
  readonly answer: string;
  /** How many tokens the question and the answer had. */
  readonly tokens: number;
}

/** A model that repeats the question. A token has four characters. */
export async function askModel(text: string): Promise<ModelAnswer> {
  if (text === '') throw new Error('the model needs a question');
  return Promise.resolve({ answer: text, tokens: Math.ceil((2 * text.length) / 4) });
}

/** The same, word by word. */
export async function* streamModel(text: string): AsyncGenerator<string> {
  for (const word of text.split(' ')) yield Promise.resolve(word);
}
