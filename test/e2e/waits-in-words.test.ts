import { Controller, Get, UseGuards } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { FreqLimit, FreqLimitGuard } from 'nestjs-freq-limit';
import { PLATFORMS } from '../support/app.js';
import { denialOf } from '../support/denials.js';
import { DRIVERS, execute, startGraphql } from '../support/graphql.js';
import {
  closeMicroservices,
  messageClient,
  startMicroservice,
  transportOf,
} from '../support/microservices.js';
import { closeClients, connect, LIBRARIES, startGateways } from '../support/sockets.js';

const MESSAGE = 'Too many requests. Try again in 15 minutes.';

@Controller()
class Routes {
  @Get()
  @FreqLimit('15m', 1)
  get() {
    return 'ok';
  }
}

@Resolver()
class Fields {
  @Query(() => Int, { nullable: true })
  @FreqLimit('15m', 1)
  one() {
    return 1;
  }
}

@WebSocketGateway()
class Gateway {
  @SubscribeMessage('one')
  @FreqLimit('15m', 1)
  one() {
    return { event: 'one', data: 1 };
  }
}

@Controller()
@UseGuards(FreqLimitGuard)
class Messages {
  @MessagePattern('one')
  @FreqLimit('15m', 1, 'all')
  one() {
    return 1;
  }
}

describe('a denial says the wait in words, and its numbers stay in seconds', () => {
  afterEach(async () => {
    closeClients();
    await closeMicroservices();
  });

  it.each(PLATFORMS)('over HTTP on %s', async (platform) => {
    const { response, body } = await denialOf(platform, {}, { controllers: [Routes] });
    expect(body).toEqual({
      statusCode: 429,
      error: 'Too Many Requests',
      message: MESSAGE,
      retryAfter: 900,
    });
    expect(response.headers.get('retry-after')).toBe('900');
  });

  it.each(PLATFORMS)('in problem details on %s', async (platform) => {
    const { response, body } = await denialOf(
      platform,
      { errorFormat: 'problem' },
      { controllers: [Routes] },
    );
    expect(body).toMatchObject({ status: 429, detail: MESSAGE, retryAfter: 900 });
    expect(response.headers.get('retry-after')).toBe('900');
  });

  it.each(DRIVERS)('in GraphQL with %s', async (driver) => {
    const { url } = await startGraphql(driver, { resolvers: [Fields] });
    await execute(url, '{ one }');
    const { errors } = await execute(url, '{ one }');
    expect(errors).toEqual([{ message: MESSAGE, code: 'TOO_MANY_REQUESTS', retryAfter: 900 }]);
  });

  it.each(LIBRARIES)('in gateways with %s', async (library) => {
    const { url } = await startGateways('express', library, [Gateway]);
    const client = await connect(library, url);
    const [, denied] = await client.requestTimes(2, 'one');
    expect(denied?.data).toEqual({
      status: 'error',
      code: 'TOO_MANY_REQUESTS',
      message: MESSAGE,
      retryAfter: 900,
    });
  });

  it('in microservices', async () => {
    const transport = await transportOf('tcp');
    await startMicroservice(transport, { controllers: [Messages] });
    const client = messageClient(transport);
    await client.send('one', {});
    expect(await client.send('one', {})).toEqual({
      error: { status: 'error', code: 'TOO_MANY_REQUESTS', message: MESSAGE, retryAfter: 900 },
    });
  });
});
