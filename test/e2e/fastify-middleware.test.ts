import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  Post,
  UseGuards,
} from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import type { IncomingMessage } from 'node:http';
import { FreqLimit, FreqLimitGuard } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { execute, fields, startGraphql } from '../support/graphql.js';
import { post } from '../support/http.js';

afterEach(closeApps);

type WithUser = IncomingMessage & { user?: unknown };

/** Sets the user, as middleware of an application does. */
@Module({})
class Recognised implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply((request: WithUser, _: unknown, next: () => void) => {
        const id = request.headers['x-user'];
        if (id !== undefined) request.user = { id };
        next();
      })
      .forRoutes('{*all}');
  }
}

@Injectable()
class Boss implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    context.switchToHttp().getRequest<{ user: unknown }>().user = { id: 'boss' };
    return true;
  }
}

@Controller()
class Users {
  @Get()
  @FreqLimit({ window: '1m', limit: 2, key: '{user.id}', onMissingKey: 'deny' })
  get() {
    return 'ok';
  }
  @Post('all')
  @FreqLimit('1m', 1, ['{user.id}', '{ip}', '{body.a}', '{query.b}', '{headers.x-c}'])
  all() {
    return 'ok';
  }
  @Get('boss')
  @UseGuards(Boss, FreqLimitGuard)
  @FreqLimit({ window: '1m', limit: 1, key: '{user.id}', onMissingKey: 'deny' })
  boss() {
    return 'ok';
  }
}

const as = (user: string) => ({ headers: { 'x-user': user } });

describe.each(PLATFORMS)('the user that middleware has set on %s', (platform) => {
  const parts = { imports: [Recognised], controllers: [Users] };

  it('is read', async () => {
    const { url } = await startApp(platform, parts);
    expect(await statuses(3, () => fetch(url, as('ann')))).toEqual([200, 200, 429]);
    expect(await statuses(3, () => fetch(url, as('bob')))).toEqual([200, 200, 429]);
    expect(await statuses(1, () => fetch(url))).toEqual([400]);
  });

  it('is read together with other values', async () => {
    const { url } = await startApp(platform, parts);
    const send = (user: string, a: string, b: string, c: string) => () =>
      post(`${url}/all?b=${b}`, { a }, { 'x-user': user, 'x-c': c });
    expect(await statuses(2, send('ann', '1', '1', '1'))).toEqual([201, 429]);
    expect(await statuses(2, send('bob', '1', '1', '1'))).toEqual([201, 429]);
    expect(await statuses(2, send('ann', '2', '1', '1'))).toEqual([201, 429]);
    expect(await statuses(2, send('ann', '1', '2', '1'))).toEqual([201, 429]);
    expect(await statuses(2, send('ann', '1', '1', '2'))).toEqual([201, 429]);
  });

  it('is ignored if a guard has set another', async () => {
    const { url } = await startApp(platform, { ...parts, limits: { globalGuard: false } as never });
    expect(await statuses(1, () => fetch(`${url}/boss`, as('ann')))).toEqual([200]);
    expect(await statuses(1, () => fetch(`${url}/boss`, as('bob')))).toEqual([429]);
  });
});

describe('the user that middleware has set before resolvers of Mercurius', () => {
  @Resolver()
  class Fields {
    @Query(() => String, { nullable: true })
    @FreqLimit({ window: '1m', limit: 1, key: '{user.id}', onMissingKey: 'deny' })
    mine() {
      return 'ok';
    }
  }

  it('is read', async () => {
    const { url } = await startGraphql('mercurius', { imports: [Recognised], resolvers: [Fields] });
    const by = (user: string) => () => execute(url, '{ mine }', {}, { 'x-user': user });
    expect(await fields(2, 'mine', by('ann'))).toEqual(['ok', 'TOO_MANY_REQUESTS']);
    expect(await fields(2, 'mine', by('bob'))).toEqual(['ok', 'TOO_MANY_REQUESTS']);
  });
});
