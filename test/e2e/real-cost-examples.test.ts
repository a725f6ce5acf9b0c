import { jest } from '@jest/globals';
import { FreqLimitService } from 'nestjs-freq-limit';
import { AnswersController } from '../../examples/real-cost/answers.controller.js';
import { StreamController } from '../../examples/real-cost/stream.controller.js';
import { Transcripts } from '../../examples/real-cost/transcripts.js';
import { closeApps, startApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { post, remaining } from '../support/http.js';

afterEach(closeApps);

// the examples of docs/real-cost.md

const text = 'one two three four';

describe('the example of answers', () => {
  const start = () => startApp('express', { controllers: [AnswersController] });

  it('settles the tokens of an answer', async () => {
    const { url } = await start();
    const response = await post(`${url}/answers`, { text });
    expect([response.status, remaining(response)]).toEqual([201, { tokens: 19_991 }]);
  });

  it('keeps the estimate of a request that fails', async () => {
    const { url } = await start();
    const response = await post(`${url}/answers`, { text: '' });
    expect([response.status, remaining(response)]).toEqual([500, { tokens: 19_500 }]);
  });

  it('settles several meters at once', async () => {
    const { url } = await start();
    const response = await post(`${url}/answers/metered`, { text: text.repeat(500) });
    expect(remaining(response)).toEqual({ requests: 59, tokens: 15_500, cents: 995 });
  });
});

it('the example of a stream settles the words that it has sent', async () => {
  const { app, url } = await startApp('express', { controllers: [StreamController] });
  const response = await fetch(`${url}/stream?text=${encodeURIComponent(text)}`);
  expect(remaining(response)).toEqual({ words: 900 });
  await response.text();
  const used = async () => {
    const check = { controller: StreamController, handler: 'stream', rule: 'words', address: '127.0.0.1' };
    return (await app.get(FreqLimitService).peek(check)).tightest?.used;
  };
  const keyed = async () => {
    const check = { controller: StreamController, handler: 'stream', rule: 'words', key: '127.0.0.1' };
    return (await app.get(FreqLimitService).peek(check)).tightest?.used;
  };
  await until(async () => (await keyed()) === 4 || (await used()) === 4);
});

it('the example of a stream keeps the estimate if the client disconnects before the first word', () => {
  const settle = jest.fn<(words: number) => Promise<void>>();
  new StreamController().stream(text, { cost: 100, settle }).subscribe().unsubscribe();
  expect(settle).not.toHaveBeenCalled();
});

it('the example of a worker settles what a job has taken', async () => {
  const { app } = await startApp('express', { providers: [Transcripts] });
  const run = (seconds: number) =>
    app.get(Transcripts).run({ tenant: 'acme', transcribe: () => Promise.resolve({ seconds }) });
  expect(await run(1_800.5)).toBe(0);
  expect(await run(5_000)).toBe(0);
  expect(await run(1)).toBeGreaterThan(86_000_000);
  const check = { name: 'seconds', key: 'acme', window: '1d', limit: 3_600 } as const;
  expect((await app.get(FreqLimitService).peek(check)).results[0]?.used).toBe(6_801);
});
