import { EventEmitter, on, once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { ChatController, ChatModule } from '../../examples/costs/chat.controller.js';
import { type Chunk, Model, type Usage } from '../../examples/costs/model.js';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { serve } from '../support/app.js';
import { until } from '../support/cluster.js';
import { startWithUsers, usedOf } from '../support/example-app.js';
import { remaining } from '../support/http.js';
import { EVERYWHERE } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();
const log = captureLog();

/** A model that produces a token when the test says so, until it is stopped. */
class SteppedModel extends Model {
  private readonly steps = new EventEmitter();

  override async *stream(_prompt: string, _maxTokens: number, signal: AbortSignal): AsyncGenerator<Chunk> {
    for await (const [usage] of on(this.steps, 'token', { signal, close: ['end'] }))
      yield { text: 'word ', usage };
  }

  produce(usage: Usage): void {
    this.steps.emit('token', usage);
  }

  finish(): void {
    this.steps.emit('end');
  }

  fail(): void {
    this.steps.emit('error', new Error('overloaded'));
  }

  /** How many answers are in progress. */
  get running(): number {
    return this.steps.listenerCount('token');
  }
}

/** 34 characters, 8 words. In Redis, half a minute passes until the bucket has its 2,000 output tokens again. */
const QUESTION = { prompt: 'What are you, and what can you do?', maxTokens: 2_000 };

const HEADERS = { 'content-type': 'application/json', authorization: 'ann' };

function ask(url: string, question: object = QUESTION): Promise<Response> {
  return fetch(`${url}/chat`, { method: 'POST', headers: HEADERS, body: JSON.stringify(question) });
}

/** The same from a client that can hang up: the pool of fetch would open another connection. */
function begin(url: string): { client: ClientRequest; responding: Promise<IncomingMessage> } {
  const client = request(`${url}/chat`, { method: 'POST', headers: HEADERS, agent: false });
  client.on('error', () => undefined);
  client.end(JSON.stringify(QUESTION));
  const responding = once(client, 'response').then(([response]: IncomingMessage[]) => {
    return response!.on('error', () => undefined);
  });
  return { client, responding };
}

describe.each(EVERYWHERE)('a chat on %s, counted in %s', (platform, kind) => {
  const start = async (model: Model) => {
    const providers = [{ provide: Model, useValue: model }];
    const parts = { controllers: [ChatController], providers };
    const { app, url } = await startWithUsers(platform, kind, suite, parts);
    const usedBy = (rule: string) =>
      usedOf(app, { controller: ChatController, handler: 'chat', rule, key: 'ann' });
    return { url, used: async () => [await usedBy('input'), await usedBy('output')] as const };
  };
  /** Whether these tokens count. In Redis, some have flowed back into the bucket. */
  const counts = ([input, output]: readonly [number, number], expected: Usage) =>
    kind === 'redis'
      ? input <= expected.input && output <= expected.output
      : input === expected.input && output === expected.output;

  it('counts the tokens of a complete answer', async () => {
    const { url, used } = await start(new Model());
    const events = await (await ask(url)).text();
    expect(events).toContain('data: language');
    await until(async () => counts(await used(), { input: 8, output: 9 }), 5_000);
    expect(log.lines).toEqual([]);
  });

  it('counts the tokens until the client hangs up', async () => {
    const model = new SteppedModel();
    const { url, used } = await start(model);
    const { client, responding } = begin(url);
    await until(() => model.running === 1);
    expect((await used())[1]).toBeGreaterThan(1_000); // the estimate
    const response = await responding;
    for (const output of [1, 2]) {
      const read = once(response, 'data');
      model.produce({ input: 8, output });
      await read;
    }
    client.destroy();
    await until(() => model.running === 0);
    await until(async () => counts(await used(), { input: 8, output: 2 }), 5_000);
    expect(log.lines).toEqual([]);
  });

  it('keeps the estimate if the client hangs up before the first token', async () => {
    const model = new SteppedModel();
    const { url, used } = await start(model);
    const { client, responding } = begin(url);
    await until(() => model.running === 1);
    await responding; // the headers come before the first token
    client.destroy();
    await until(() => model.running === 0);
    expect((await used())[1]).toBeGreaterThan(1_000);
  });

  it('counts the tokens until the model fails', async () => {
    const model = new SteppedModel();
    const { url, used } = await start(model);
    const asking = ask(url);
    await until(() => model.running === 1);
    model.produce({ input: 8, output: 1 });
    model.fail();
    expect(await (await asking).text()).toContain('event: error');
    await until(async () => counts(await used(), { input: 8, output: 1 }), 5_000);
  });

  it('charges tokens above the estimate, also above the limit', async () => {
    const model = new SteppedModel();
    const { url, used } = await start(model);
    const asking = ask(url);
    await until(() => model.running === 1);
    model.produce({ input: 40_000, output: 3_000 });
    model.finish();
    await (await asking).text();
    await until(async () => (await used())[0] > 20_000);
    const next = await ask(url);
    expect([next.status, remaining(next)]).toEqual([429, { input: 0, output: expect.any(Number) }]);
    expect(Number(next.headers.get('retry-after'))).toBeGreaterThan(30);
  });

  it('denies answers that could exceed the limit if all of them were long', async () => {
    const model = new SteppedModel();
    const { url } = await start(model);
    const asking = [ask(url), ask(url)];
    await until(() => model.running === 2);
    expect((await ask(url)).status).toBe(429);
    model.produce({ input: 8, output: 1 });
    model.finish();
    for (const one of asking) await (await one).text();
    let next = await ask(url);
    await until(async () => {
      if (next.status === 429) next = await ask(url);
      return next.status !== 429;
    });
    await until(() => model.running === 1);
    model.finish();
    await next.text();
  });

  it('denies an answer that would reserve more than half of the tokens', async () => {
    const { url, used } = await start(new Model());
    const response = await ask(url, { ...QUESTION, maxTokens: 2_001 });
    const message = 'This request costs more than one request may use of a limit, so it cannot pass.';
    expect([response.status, await response.json()]).toMatchObject([429, { message }]);
    expect(await used()).toEqual([0, 0]);
  });

  it.each([{}, { prompt: 7, maxTokens: -1 }, { prompt: ['x'], maxTokens: 'all' }])(
    'answers questions that are not valid: %j',
    async (question) => {
      const { url } = await start(new Model());
      const response = await ask(url, question);
      expect(response.ok).toBe(true);
      expect(await response.text()).toContain('data: I');
    },
  );
});

it('the example of a chat starts', async () => {
  const { url } = await serve('express', { imports: [ChatModule] }, (builder) =>
    useMemoryStore(builder, new TestClock()),
  );
  const response = await ask(url);
  expect(remaining(response)).toEqual({ input: 20_000 - 18, output: 2_000 });
  await response.text();
  expect(log.lines).toEqual([]);
});
