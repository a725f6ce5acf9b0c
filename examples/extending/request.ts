import type { ExecutionContext } from '@nestjs/common';
import type { ContextAdapter, FreqLimitOptions } from 'nestjs-freq-limit';

interface BotMessage {
  readonly from: { readonly id: number };
  readonly text: string;
}

// protected getRequestResponse(context) { const [message] = context.getArgs(); return { req: message, res: {} } }
const BOT: ContextAdapter = {
  request: (context: ExecutionContext) => {
    const [message] = context.getArgs<[BotMessage]>();
    return { user: message.from, body: message };
  },
  toError: ({ message }) => new Error(message),
};

/** For a library of chat bots whose handlers have the context type `'bot'`. */
export const withBot: FreqLimitOptions = {
  contextAdapters: { bot: BOT },
  rules: [{ name: 'chat', window: '1m', limit: 2, key: '{user.id}' }],
};
