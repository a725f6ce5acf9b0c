import { Controller, Get } from '@nestjs/common';
import { jest } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { denials, hooks, watchDenials } from '../../examples/http/observing.js';
import { FreqLimit, type FreqLimitEvent, FreqLimitService } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { captureLog } from '../support/log.js';

const { lines } = captureLog();
afterEach(closeApps);
afterEach(() => jest.restoreAllMocks());

const minute = { window: '1m', limit: 2, name: 'minute' } as const;

@Controller()
class Limited {
  @Get()
  @FreqLimit(minute)
  get() {
    return 'ok';
  }
}

describe.each(PLATFORMS)('hooks on %s', (platform) => {
  it('get verdicts and denials, with the context of the request', async () => {
    const events: unknown[] = [];
    const note = (kind: string) => (event: FreqLimitEvent) => {
      const { verdict, context } = event;
      events.push([kind, verdict.allowed, verdict.tightest?.remaining, context?.getHandler().name]);
    };
    const limits = { onVerdict: note('verdict'), onDenied: note('denied') };
    const { app, url } = await startApp(platform, { controllers: [Limited], limits });
    await statuses(3, () => fetch(url));
    await app.get(FreqLimitService).consume({ key: 'x', window: '1m', limit: 0 });
    expect(events).toEqual([
      ['verdict', true, 1, 'get'],
      ['verdict', true, 0, 'get'],
      ['verdict', false, 0, 'get'],
      ['denied', false, 0, 'get'],
      ['verdict', false, 0, undefined],
      ['denied', false, 0, undefined],
    ]);
  });

  it('change nothing if they throw, reject or never resolve', async () => {
    const throws = (): never => {
      throw new Error('of a hook');
    };
    const rejects = (): Promise<never> => Promise.reject(new Error('of a hook'));
    const line = 'FREQ_LIMIT_HOOK_FAILED: The onVerdict function failed; the request continues: of a hook';
    const thenable = (): unknown => ({ then: throws });
    const getter = (): unknown => Object.defineProperty({}, 'then', { get: throws });
    const late = (): unknown => ({
      then: (_: unknown, reject: (error: Error) => void) => {
        reject(new Error('of a hook'));
      },
    });
    for (const hook of [throws, rejects, thenable, getter, late]) {
      lines.length = 0;
      const limits = { onVerdict: hook, onDenied: hook };
      const { url } = await startApp(platform, { controllers: [Limited], limits });
      expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
      // at most one of each hook a second
      expect(lines[0]).toBe(line);
      expect(lines.length).toBeLessThan(4);
    }
    const never = (): Promise<void> => new Promise(() => undefined);
    const limits = { onVerdict: never, onDenied: never };
    const { url } = await startApp(platform, { controllers: [Limited], limits });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
  });

  it('are not called if no rule applies or a rule fails', async () => {
    const onVerdict = jest.fn();
    @Controller()
    class Others {
      @Get('free')
      free() {
        return 'ok';
      }
      @Get('fails')
      @FreqLimit({ ...minute, key: () => Promise.reject(new Error('no key')) })
      fails() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Others], limits: { onVerdict } });
    expect(await statuses(1, () => fetch(`${url}/free`))).toEqual([200]);
    expect(await statuses(1, () => fetch(`${url}/fails`))).toEqual([500]);
    expect(onVerdict).not.toHaveBeenCalled();
  });

  it('count the denials of the example', async () => {
    denials.clear();
    const { url } = await startApp(platform, { controllers: [Limited], limits: hooks });
    await statuses(5, () => fetch(url));
    expect([...denials]).toEqual([['minute', 3]]);
  });
});

describe.each(PLATFORMS)('channels on %s', (platform) => {
  it('carry verdicts and denials to subscribers', async () => {
    const events: unknown[] = [];
    const listen = (message: unknown, name: unknown): void => {
      const { verdict, context } = message as FreqLimitEvent;
      events.push([name, verdict.tightest?.name, verdict.allowed, context?.getClass()]);
    };
    const names = ['nestjs-freq-limit:verdict', 'nestjs-freq-limit:denied'];
    for (const name of names) subscribe(name, listen);
    const { url } = await startApp(platform, { controllers: [Limited] });
    await statuses(3, () => fetch(url));
    for (const name of names) unsubscribe(name, listen);
    await statuses(1, () => fetch(url));
    expect(events).toEqual([
      ['nestjs-freq-limit:verdict', 'minute', true, Limited],
      ['nestjs-freq-limit:verdict', 'minute', true, Limited],
      ['nestjs-freq-limit:verdict', 'minute', false, Limited],
      ['nestjs-freq-limit:denied', 'minute', false, Limited],
    ]);
  });
});

// last, since this subscription stays
it('denials reach a listener outside of the application', async () => {
  denials.clear();
  watchDenials();
  const { url } = await startApp('express', { controllers: [Limited] });
  await statuses(3, () => fetch(url));
  expect([...denials]).toEqual([['minute', 1]]);
});
