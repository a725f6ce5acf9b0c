import { Controller, Get } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { type ContextAdapter, FreqLimit, type FreqLimitOptions } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { DRIVERS, execute, startGraphql } from '../support/graphql.js';
import { captureLog } from '../support/log.js';
import { closeClients, connect, LIBRARIES, startGateways } from '../support/sockets.js';

const log = captureLog();

let handled = 0;
beforeEach(() => {
  handled = 0;
});
afterEach(async () => {
  closeClients();
  await closeApps();
});

@Controller()
class Routes {
  @Get()
  @FreqLimit('1m', 1)
  get() {
    return ++handled;
  }
}

@Resolver()
class Fields {
  @Query(() => Int, { nullable: true })
  @FreqLimit('1m', 1)
  one() {
    return ++handled;
  }
}

@WebSocketGateway()
class Gateway {
  @SubscribeMessage('one')
  @FreqLimit('1m', 1)
  one() {
    return { event: 'one', data: ++handled };
  }
  @SubscribeMessage('end')
  end() {
    return { event: 'end', data: handled };
  }
}

const limitsWith = (type: string, made: unknown): FreqLimitOptions => ({
  contextAdapters: { [type]: { toError: () => made } as ContextAdapter },
});
const lineOf = (type: string, text: string): string =>
  `FREQ_LIMIT_ADAPTER_FAILED: contextAdapters.${type}.toError returned ${text}; the HTTP exception is thrown instead`;

/** What an adapter makes, and how the line names it. */
const NOTHING = [
  ['undefined', undefined, 'undefined'],
  ['null', null, 'null'],
  ['a promise of undefined', Promise.resolve(undefined), 'undefined'],
] as const;

describe.each(NOTHING)('an adapter whose toError makes nothing: %s', (_, made, text) => {
  it.each(PLATFORMS)('gives a denied request 429 on %s', async (platform) => {
    const { url } = await startApp(platform, { controllers: [Routes], limits: limitsWith('http', made) });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 429, 429]);
    expect(handled).toBe(1);
    expect(new Set(log.lines)).toEqual(new Set([lineOf('http', text)]));
  });

  it.each(DRIVERS)('gives a denied field an error with %s', async (driver) => {
    const { url } = await startGraphql(driver, { resolvers: [Fields], limits: limitsWith('graphql', made) });
    await execute(url, '{ one }');
    const { data, errors } = await execute(url, '{ one }');
    expect([data, handled]).toEqual([{ one: null }, 1]);
    expect(errors).toMatchObject([{ message: 'Too many requests. Try again in 1 minute.' }]);
    expect(log.lines).toEqual([lineOf('graphql', text)]);
  });

  it.each(LIBRARIES)('does not run the handler of a denied message, with %s', async (library) => {
    const { url } = await startGateways('express', library, [Gateway], limitsWith('ws', made));
    const client = await connect(library, url);
    await client.request('one');
    client.send('one');
    // Nest 11 sends no exceptions to clients of ws, so these show that the message was handled
    for (const event of ['end', 'end']) client.send(event);
    const ends: unknown[] = [];
    while (ends.length < 2) {
      const { event, data } = await client.next();
      if (event === 'end') ends.push(data);
    }
    expect([...ends, handled]).toEqual([1, 1, 1]);
    expect(log.withCode('FREQ_LIMIT_ADAPTER_FAILED')).toEqual([lineOf('ws', text)]);
  });
});

it.each(PLATFORMS)('a string that toError makes is thrown as it is, on %s', async (platform) => {
  const { url } = await startApp(platform, {
    controllers: [Routes],
    limits: limitsWith('http', 'slow down'),
  });
  // Nest answers 500 to what is not an error
  expect(await statuses(2, () => fetch(url))).toEqual([200, 500]);
  expect([handled, log.withCode('FREQ_LIMIT_ADAPTER_FAILED')]).toEqual([1, []]);
});
