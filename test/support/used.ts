import type { INestApplication, Type } from '@nestjs/common';
import { FreqLimitService } from 'nestjs-freq-limit';

/** The units that a rule of a handler has counted, of a rule with a constant key. */
export async function usedOf(
  app: Pick<INestApplication, 'get'>,
  controller: Type,
  handler: string,
  rule: string,
): Promise<number | undefined> {
  const { tightest } = await app.get(FreqLimitService).peek({ controller, handler, rule });
  return tightest?.used;
}
