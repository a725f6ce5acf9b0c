import { Body, Controller, Get, Module, Param, Post, UseGuards } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { Args, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { FreqLimit, FreqLimitGuard, FreqLimitModule } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, serve, startApp, statuses } from '../support/app.js';
import { DRIVERS, execute, startGraphql } from '../support/graphql.js';
import { post } from '../support/http.js';
import { captureLog } from '../support/log.js';
import {
  closeMicroservices,
  messageClient,
  startMicroservice,
  transportOf,
} from '../support/microservices.js';
import { closeClients, connect, LIBRARIES, startGateways } from '../support/sockets.js';

const log = captureLog();
const missing = (): string[] => log.withCode('FREQ_LIMIT_VALUE_ALWAYS_MISSING');

afterEach(async () => {
  closeClients();
  await closeMicroservices();
  await closeApps();
});

const lineOf = (place: string, value: string, effect: string): string =>
  `FREQ_LIMIT_VALUE_ALWAYS_MISSING: @FreqLimit on ${place}: none of the first 20 requests had ${value}, so they were ` +
  `${effect}. Check the name, and that the value is set before FreqLimitGuard runs. If clients may leave it out, there is ` +
  'nothing to do.';

@Controller()
class LogIns {
  @Post('login')
  @FreqLimit({ name: 'login', window: '15m', limit: 5, key: '{body.usr}' })
  login(@Body() { user }: { user: string }) {
    return { user };
  }
  @Post('code')
  @FreqLimit({ name: 'code', window: '15m', limit: 5, key: '{body.user}', onMissingKey: 'deny' })
  code(@Body() { user }: { user: string }) {
    return { user };
  }
  @Post('tried')
  @FreqLimit({
    name: 'tried',
    window: '15m',
    limit: 5,
    key: '{headers.x-tennant}',
    shadow: true,
    onMissingKey: 'skip',
  })
  tried() {
    return 'ok';
  }
}

describe.each(PLATFORMS)('a value that no request has, on %s', (platform) => {
  it('is named once, whether the requests pass or are denied', async () => {
    const { url } = await startApp(platform, { controllers: [LogIns] });
    await statuses(19, () => post(`${url}/login`, { user: 'ann', password: 'open sesame' }));
    expect(missing()).toEqual([]);
    await statuses(30, () => post(`${url}/login`, { user: 'ann' }));
    expect(missing()).toEqual([lineOf('LogIns.login, rule "login"', '{body.usr}', 'counted by IP address')]);
    expect(log.text()).not.toMatch(/ann|sesame|password/);
  });

  it('is named for rules that deny and for shadow rules', async () => {
    const { url } = await startApp(platform, { controllers: [LogIns] });
    expect(new Set(await statuses(20, () => post(`${url}/code`, {})))).toEqual(new Set([400]));
    await statuses(20, () => post(`${url}/tried`, {}));
    expect(missing()).toEqual([
      lineOf('LogIns.code, rule "code"', '{body.user}', 'denied with status 400'),
      lineOf('LogIns.tried, rule "tried"', '{headers.x-tennant}', 'not counted by this rule'),
    ]);
  });

  it('is not named if one of the first requests has it', async () => {
    const { url } = await startApp(platform, { controllers: [LogIns] });
    await statuses(19, () => post(`${url}/code`, {}));
    await statuses(1, () => post(`${url}/code`, { user: 'ann' }));
    await statuses(50, () => post(`${url}/code`, {}));
    expect(missing()).toEqual([]);
  });
});

@Resolver()
class Codes {
  // a schema needs a query
  @Query(() => Int)
  one() {
    return 1;
  }
  @Mutation(() => Int, { nullable: true })
  @FreqLimit({ name: 'code', window: '1m', limit: 100, key: '{body.phon}' })
  send(@Args('phone') phone: string) {
    return phone.length;
  }
}

it.each(DRIVERS)('a value that no call of a resolver has is named, with %s', async (driver) => {
  const { url } = await startGraphql(driver, { resolvers: [Codes] });
  for (let i = 0; i < 25; i++) await execute(url, 'mutation { send(phone: "138") }');
  expect(missing()).toEqual([lineOf('Codes.send, rule "code"', '{body.phon}', 'counted by IP address')]);
});

@WebSocketGateway()
class Rooms {
  @SubscribeMessage('join')
  @FreqLimit({ name: 'join', window: '1m', limit: 100, key: ['{ip}', '{body.rom}'] })
  join() {
    return { event: 'joined', data: 1 };
  }
}

it.each(LIBRARIES)('a value that no message to a gateway has is named, with %s', async (library) => {
  const { url } = await startGateways('express', library, [Rooms]);
  const client = await connect(library, url);
  await client.requestTimes(25, 'join', { room: 7 });
  expect(missing()).toEqual([lineOf('Rooms.join, rule "join"', '{body.rom}', 'counted by IP address')]);
});

@Controller()
@UseGuards(FreqLimitGuard)
class Messages {
  @MessagePattern('mail')
  @FreqLimit({ name: 'mail', window: '1m', limit: 100, key: '{headers.to}', onMissingKey: 'skip' })
  mail() {
    return 'sent';
  }
}

it('a value that no message of a microservice has is named', async () => {
  const transport = await transportOf('tcp');
  await startMicroservice(transport, { controllers: [Messages] });
  const client = messageClient(transport);
  for (let i = 0; i < 25; i++) await client.send('mail', { to: 'ann' });
  expect(missing()).toEqual([
    lineOf('Messages.mail, rule "mail"', '{headers.to}', 'not counted by this rule'),
  ]);
});

@Controller('users')
class Users {
  @Get(':id')
  @FreqLimit({ name: 'user', window: '1m', limit: 100, key: '{params.userId}' })
  get(@Param('id') id: string) {
    return id;
  }
}

describe.each(PLATFORMS)('a parameter that no path has, on %s', (platform) => {
  it('is named at start-up, and not again when requests come', async () => {
    const { url } = await startApp(platform, { controllers: [Users] });
    const line =
      'FREQ_LIMIT_VALUE_ALWAYS_MISSING: @FreqLimit on Users.get, rule "user": the key reads {params.userId}, but the path of ' +
      'Users.get has no such parameter. Requests there are counted by IP address. Use the name of the parameter in the path.';
    expect(missing()).toEqual([line]);
    await statuses(30, () => fetch(`${url}/users/1`));
    expect(missing()).toEqual([line]);
  });

  it('is not named if the global prefix or the path of the module has it', async () => {
    await startApp(platform, { controllers: [Users] }, undefined, (app) => app.setGlobalPrefix('at/:userId'));
    @Module({ controllers: [Users] })
    class UsersModule {}
    const routes = RouterModule.register([{ path: 'of/:userId', module: UsersModule }]);
    const { url } = await serve(platform, { imports: [FreqLimitModule.forRoot(), UsersModule, routes] });
    await statuses(30, () => fetch(`${url}/of/1/users/2`));
    expect(missing()).toEqual([]);
  });
});
