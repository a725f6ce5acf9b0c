import { Controller, Get, Injectable } from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { ownError } from '../../examples/extending/error.js';
import { SearchController } from '../../examples/extending/handle-request.js';
import { OrdersController, UsersController } from '../../examples/extending/key.js';
import { withBot } from '../../examples/extending/request.js';
import { notForStaff } from '../../examples/extending/skip.js';
import { AuditedModule, AuditLog } from '../../examples/extending/subclass.js';
import { byAccount } from '../../examples/extending/tracker.js';
import { FreqLimit } from 'nestjs-freq-limit';
import { type AppParts, closeApps, serve, startApp, statuses } from '../support/app.js';
import { captureLog } from '../support/log.js';

const { lines } = captureLog();

afterEach(closeApps);

interface WithUser {
  readonly headers: { readonly 'x-user'?: string };
  user?: unknown;
}

@Controller()
class Limited {
  @Get()
  @FreqLimit({ window: '1m', limit: 2, name: 'minute' })
  get() {
    return 'ok';
  }
}

/** An application on Express whose `request.user` is the JSON of the header `x-user`. */
async function startWithUsers(parts: AppParts, path = ''): Promise<(user?: object) => Promise<Response>> {
  const { url } = await startApp('express', parts, undefined, (app) => {
    app.use((request: WithUser, _: unknown, next: () => void) => {
      const { 'x-user': user } = request.headers;
      if (user !== undefined) request.user = JSON.parse(user);
      next();
    });
  });
  return (user) => fetch(url + path, user && { headers: { 'x-user': JSON.stringify(user) } });
}

describe('the examples for extending', () => {
  it('count by account, and by address without one', async () => {
    const send = await startWithUsers({ controllers: [Limited], limits: byAccount });
    expect(await statuses(3, () => send({ account: { id: 'a' } }))).toEqual([200, 200, 429]);
    expect(await statuses(3, () => send({ account: { id: 'b' } }))).toEqual([200, 200, 429]);
    expect(await statuses(3, () => send())).toEqual([200, 200, 429]);
  });

  it('share a counter between controllers', async () => {
    const { url } = await startApp('express', { controllers: [UsersController, OrdersController] });
    expect(await statuses(1, () => fetch(`${url}/users/export`))).toEqual([200]);
    expect(await statuses(2, () => fetch(`${url}/orders/export`))).toEqual([200, 429]);
    expect(await statuses(1, () => fetch(`${url}/users/export`))).toEqual([429]);
  });

  it('throw an error of the application', async () => {
    const { url } = await startApp('express', { controllers: [Limited], limits: ownError });
    expect(await statuses(2, () => fetch(url))).toEqual([200, 200]);
    const response = await fetch(url);
    expect([response.status, await response.json()]).toEqual([
      429,
      { error: 'slow_down', rule: 'minute', waitMs: expect.any(Number) },
    ]);
  });

  it('skip requests of staff', async () => {
    const send = await startWithUsers({ controllers: [Limited], limits: notForStaff });
    expect(await statuses(4, () => send({ isStaff: true }))).toEqual([200, 200, 200, 200]);
    expect(await statuses(3, () => send({ isStaff: false }))).toEqual([200, 200, 429]);
  });

  it('read and answer the handlers of another library', async () => {
    @Injectable()
    class Bot {
      hear({ text }: { text: string }) {
        return text;
      }
    }
    const { app } = await startApp('express', { providers: [Bot], limits: withBot });
    const bot = app.get(Bot);
    const hear = app
      .get(ExternalContextCreator)
      .create(
        bot,
        bot.hear as (...args: unknown[]) => unknown,
        'hear',
        undefined,
        undefined,
        undefined,
        undefined,
        undefined,
        'bot',
      );
    const send = (id: number): unknown => hear({ from: { id }, text: 'hi' });
    expect([await send(1), await send(1), await send(2)]).toEqual(['hi', 'hi', 'hi']);
    await expect(send(1)).rejects.toThrow(/^Too many requests/);
  });

  it('decide by the service instead of the guard', async () => {
    const send = await startWithUsers({ controllers: [SearchController] }, '/search');
    const results: unknown[] = [];
    for (let i = 0; i < 3; i++) results.push(await (await send({ id: 'ann' })).json());
    expect(results).toEqual([{ results: 'fresh' }, { results: 'fresh' }, { results: 'cached' }]);
  });

  it('subclass the guard, once per request and without warnings', async () => {
    const { app, url } = await serve('express', { imports: [AuditedModule], controllers: [Limited] });
    expect(await statuses(4, () => fetch(url))).toEqual([200, 200, 429, 429]);
    expect(app.get(AuditLog, { strict: false }).denials).toEqual(['minute denied', 'minute denied']);
    expect(lines).toEqual([]);
  });
});
