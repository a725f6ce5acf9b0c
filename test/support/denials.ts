import { Controller, Get, type Type } from '@nestjs/common';
import { FreqLimit, type FreqLimitOptions } from 'nestjs-freq-limit';
import { type Platform, startApp } from './app.js';

/** One request in ten seconds. */
@Controller()
export class Once {
  @Get()
  @FreqLimit({ window: '10s', limit: 1, name: 'one' })
  get() {
    return 'ok';
  }
}

/** The second answer of a handler that allows one request. */
export async function denialOf(
  platform: Platform,
  limits: FreqLimitOptions,
  { controllers = [Once], headers = {} }: { controllers?: Type[]; headers?: Record<string, string> } = {},
): Promise<{ response: Response; body: Record<string, unknown> }> {
  const { url } = await startApp(platform, { controllers, limits });
  await fetch(url);
  const response = await fetch(url, { headers });
  return { response, body: (await response.json()) as Record<string, unknown> };
}
