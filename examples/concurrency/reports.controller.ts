import { Controller, Get, StreamableFile } from '@nestjs/common';
import { FreqLimit } from 'nestjs-freq-limit';
import { createReadStream } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(import.meta.url);

@Controller('reports')
export class ReportsController {
  /** At most two downloads of a user at once, and at most 20 in an hour. */
  @Get('download')
  @FreqLimit({ name: 'downloads', concurrency: 2, key: '{user.id}' })
  @FreqLimit({ name: 'hourly', window: '1h', limit: 20, key: '{user.id}' })
  download() {
    return new StreamableFile(createReadStream(FILE));
  }
}
