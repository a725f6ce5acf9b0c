import {
  Controller,
  type ExecutionContext,
  Module,
  PayloadTooLargeException,
  Put,
  Req,
} from '@nestjs/common';
import { FreqLimit, FreqLimitCharge, FreqLimitModule } from 'nestjs-freq-limit';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AuthModule } from '../http/users.js';

const PER_HOUR = 10_000_000;
const MAX_BYTES = 1_000_000;

/** Express's request is the one of Node, Fastify's has it in `raw`. */
interface UploadRequest extends IncomingMessage {
  readonly raw?: IncomingMessage;
}

/** The length that the client announces. If it announces none, the upload may have the maximum length. */
function announcedBytes(context: ExecutionContext): number {
  const { headers } = context.switchToHttp().getRequest<UploadRequest>();
  return Math.min(Number(headers['content-length'] ?? MAX_BYTES), PER_HOUR);
}

@Controller('uploads')
export class UploadsController {
  @Put()
  @FreqLimit({
    name: 'bytes',
    window: '1h',
    limit: PER_HOUR,
    algorithm: 'sliding-window',
    cost: announcedBytes,
    maxShare: 0.1, // of the limit: 1,000,000 bytes
    key: '{user.id}',
  })
  async upload(@Req() request: UploadRequest, @FreqLimitCharge('bytes') charge: FreqLimitCharge) {
    const hash = createHash('sha256');
    let bytes = 0;
    try {
      for await (const chunk of bodyOf(request)) {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) throw new PayloadTooLargeException();
        hash.update(chunk);
      }
      return { bytes, sha256: hash.digest('hex') };
    } finally {
      // also if the upload is too long, or the client hangs up
      await charge.settle(bytes);
    }
  }
}

/** The chunks of a body. The connection stays open if not all of them are read, so that the client gets the response. */
function bodyOf(request: UploadRequest): AsyncIterable<Buffer> {
  return (request.raw ?? request).iterator({ destroyOnReturn: false });
}

@Module({
  imports: [
    AuthModule,
    FreqLimitModule.forRoot({ redis: process.env['REDIS_URL'] ?? false, namespace: 'uploads' }),
  ],
  controllers: [UploadsController],
})
export class UploadsModule {}
