import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  Module,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD, ExternalContextCreator } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { LimitsForCustomers } from '../../examples/http/own-guard.js';
import {
  FreqLimit,
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitModuleExtras,
  type FreqLimitOptions,
  FreqLimitService,
  isFreqLimitExceeded,
} from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, serve, statuses } from '../support/app.js';
import { remaining } from '../support/http.js';
import { captureLog } from '../support/log.js';

captureLog();

afterEach(closeApps);

const OURS_NOWHERE = { globalGuard: false };
const imported = (options: FreqLimitOptions & FreqLimitModuleExtras = OURS_NOWHERE) => [
  FreqLimitModule.forRoot(options),
];

@Injectable()
class ByType implements CanActivate {
  constructor(private readonly limits: FreqLimitGuard) {}
  canActivate(context: ExecutionContext) {
    return this.limits.canActivate(context);
  }
}

@Injectable()
class ByToken implements CanActivate {
  constructor(@Inject(FreqLimitGuard) private readonly limits: CanActivate) {}
  async canActivate(context: ExecutionContext) {
    await new Promise(setImmediate);
    return this.limits.canActivate(context) as Promise<boolean>;
  }
}

@Injectable()
class ByProperty implements CanActivate {
  @Inject(FreqLimitGuard)
  private readonly limits!: FreqLimitGuard;
  canActivate(context: ExecutionContext) {
    return this.limits.canActivate(context);
  }
}

@Controller()
class Limited {
  @Get()
  @FreqLimit('1m', 2)
  get() {
    return 'ok';
  }
}

/** A controller with one limited handler and these guards. */
function guarded(onClass: readonly Type<CanActivate>[], onMethod: readonly Type<CanActivate>[]): Type {
  @Controller()
  @UseGuards(...onClass)
  class Guarded {
    @Get()
    @UseGuards(...onMethod)
    @FreqLimit('1m', 2)
    get() {
      return 'ok';
    }
  }
  return Guarded;
}

const EXISTING = { provide: APP_GUARD, useExisting: FreqLimitGuard };

describe.each(PLATFORMS)('FreqLimitGuard on %s', (platform) => {
  it.each([
    ['the constructor, by type', ByType],
    ['the constructor, by token', ByToken],
    ['a property', ByProperty],
  ])('is injected into a guard of the application: %s', async (_, guard) => {
    const { url } = await serve(platform, { imports: imported(), controllers: [guarded([], [guard])] });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
  });

  it('can be APP_GUARD with useExisting', async () => {
    const { url } = await serve(platform, {
      imports: imported(),
      controllers: [Limited],
      providers: [EXISTING],
    });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
  });

  it.each<
    [string, FreqLimitModuleExtras, readonly Type<CanActivate>[], readonly Type<CanActivate>[], object[]]
  >([
    ['globally, twice', {}, [], [], [EXISTING]],
    ['globally, twice by APP_GUARD', OURS_NOWHERE, [], [], [EXISTING, EXISTING]],
    ['globally and on the handler', OURS_NOWHERE, [FreqLimitGuard], [FreqLimitGuard], [EXISTING]],
    ['by one guard in two places', OURS_NOWHERE, [ByType], [ByType], []],
    ['by an async guard, in two places', OURS_NOWHERE, [ByToken], [ByToken], []],
    ['by guards of three kinds', {}, [ByType, ByToken], [ByProperty, FreqLimitGuard], [EXISTING]],
  ])('counts once if several guards call it: %s', async (_, extras, onClass, onMethod, providers) => {
    const { url } = await serve(platform, {
      imports: imported(extras),
      controllers: [guarded(onClass, onMethod)],
      providers: providers as never[],
    });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
  });

  it('limits only customers in the example', async () => {
    @Injectable()
    class Staff implements CanActivate {
      canActivate(context: ExecutionContext) {
        const request = context.switchToHttp().getRequest<{ headers: object; user?: object }>();
        request.user = { isStaff: 'x-staff' in request.headers };
        return true;
      }
    }
    const { url } = await serve(platform, {
      imports: imported(),
      controllers: [guarded([Staff], [LimitsForCustomers])],
    });
    expect(await statuses(3, () => fetch(url, { headers: { 'x-staff': '1' } }))).toEqual([200, 200, 200]);
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
  });

  it('is a provider of the application', async () => {
    const { app } = await serve(platform, { imports: imported() });
    expect(app.get(FreqLimitGuard)).toBeInstanceOf(FreqLimitGuard);
  });

  it('is exported to modules that import FreqLimitModule if it is not global', async () => {
    @Module({
      imports: imported({ globalGuard: false, global: false }),
      controllers: [guarded([], [ByType])],
      providers: [ByType],
    })
    class Feature {}
    const { url } = await serve(platform, { imports: [Feature] });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
  });

  it.each(['overrideProvider', 'overrideGuard'] as const)('can be replaced in tests by %s', async (how) => {
    const { url } = await serve(platform, { imports: imported({}), controllers: [Limited] }, (builder) =>
      builder[how](FreqLimitGuard).useValue({ canActivate: () => true }),
    );
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 200]);
  });
});

describe('a context that the application creates', () => {
  class Worker {
    @FreqLimit('1m', 2, 'all')
    work() {}
  }
  @Injectable()
  class Auth implements CanActivate {
    canActivate() {
      return true;
    }
  }
  class Guarded {
    @Get()
    @UseGuards(Auth, Auth)
    @FreqLimit('1m', 2, 'all')
    work() {}
  }

  async function guardOf(extras: FreqLimitModuleExtras = OURS_NOWHERE): Promise<FreqLimitGuard> {
    const { app } = await serve('express', { imports: imported(extras), providers: [Worker] });
    return app.get(FreqLimitGuard);
  }

  const literal = (classRef: typeof Worker) => {
    const args = [{ ip: '192.0.2.1' }, {}];
    return {
      getType: () => 'http',
      getClass: () => classRef,
      getHandler: () => classRef.prototype.work,
      getArgs: () => args,
      getArgByIndex: (i: number) => args[i],
    } as unknown as ExecutionContext;
  };
  const host = (classRef: typeof Worker) =>
    new ExecutionContextHost([{ ip: '192.0.2.1' }, {}], classRef, classRef.prototype.work);

  const seen = async (guard: FreqLimitGuard, context: ExecutionContext): Promise<unknown> => {
    try {
      return await guard.canActivate(context);
    } catch (error) {
      return isFreqLimitExceeded(error) ? 'denied' : error;
    }
  };

  describe.each<
    [string, (classRef: typeof Worker) => ExecutionContext, typeof Worker, FreqLimitModuleExtras]
  >([
    ['an object', literal, Worker, OURS_NOWHERE],
    ['one of Nest’s class', host, Worker, OURS_NOWHERE],
    ['one of Nest’s class, in addition to the global guard', host, Worker, {}],
    ['one of Nest’s class, for a handler with other guards', host, Guarded, {}],
    ['a frozen object', (classRef) => Object.freeze(literal(classRef)), Worker, {}],
  ])('counts each use: %s', (_, contextOf, classRef, extras) => {
    it('one after the other', async () => {
      const guard = await guardOf(extras);
      const context = contextOf(classRef);
      const answers = [];
      for (let i = 0; i < 4; i++) answers.push(await seen(guard, context));
      expect(answers).toEqual([true, true, 'denied', 'denied']);
    });

    it('all at once', async () => {
      const guard = await guardOf(extras);
      const context = contextOf(classRef);
      const answers = await Promise.all(Array.from({ length: 4 }, () => seen(guard, context)));
      expect(answers.filter((answer) => answer === true)).toHaveLength(2);
    });
  });

  it('sends headers of the tightest call if several share a response', async () => {
    const keys = ['a', 'a', 'b'];
    class Resolver {
      @FreqLimit({ window: '1m', limit: 2, key: () => keys.shift(), name: 'all' })
      work() {}
    }
    const { app } = await serve('express', { imports: imported(), providers: [Resolver] });
    const headers = new Headers();
    const set = (name: string, value: string): void => {
      headers.set(name, value);
    };
    const info = { parentType: 'Query', schema: {} };
    const context = new ExecutionContextHost(
      [undefined, {}, { res: { header: set, set } }, info],
      Resolver,
      Resolver.prototype.work,
    );
    context.setType('graphql' as 'http');
    for (let i = 0; i < 3; i++) expect(await seen(app.get(FreqLimitGuard), context)).toBe(true);
    expect(remaining({ headers })).toEqual({ all: 0 });
  });
});

describe('an argument shared by all calls of a handler', () => {
  interface Job {
    readonly id: string;
    readonly ends: 'well' | 'badly' | 'before';
  }

  @Injectable()
  class Later implements CanActivate {
    canActivate(context: ExecutionContext) {
      return context.getArgByIndex<Job>(1).ends !== 'before';
    }
  }

  @Injectable()
  class Jobs {
    @UseGuards(FreqLimitGuard, Later)
    @FreqLimit({
      window: '1m',
      limit: 5,
      key: (context) => context.getArgByIndex<Job>(1).id,
      name: 'jobs',
      countWhen: 'failure',
    })
    work(_shared: object, { ends }: Job) {
      if (ends === 'badly') throw new Error('failed');
    }
  }

  it('does not mix up which call is refunded', async () => {
    const { app } = await serve('express', { imports: imported(), providers: [Jobs] });
    const jobs = app.get(Jobs);
    const call = app
      .get(ExternalContextCreator)
      .create(jobs, jobs.work as (...args: unknown[]) => unknown, 'work') as (
      ...args: unknown[]
    ) => Promise<void>;
    const shared = {};
    const work = (id: string, ends: Job['ends']) => call(shared, { id, ends }).catch(() => undefined);
    await work('a', 'before');
    await work('b', 'well');
    await work('c', 'badly');
    const used = async (key: string) => {
      const check = { controller: Jobs, handler: 'work', rule: 'jobs', key };
      return (await app.get(FreqLimitService).peek(check)).tightest?.used;
    };
    expect([await used('a'), await used('b'), await used('c')]).toEqual([1, 0, 1]);
  });
});
