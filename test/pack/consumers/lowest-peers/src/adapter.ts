import { ExpressAdapter } from '@nestjs/platform-express';

export const adapter = (): ExpressAdapter => new ExpressAdapter();
