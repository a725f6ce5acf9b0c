import {
  type CallHandler,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpCode,
  Inject,
  Injectable,
  Module,
  type NestInterceptor,
  Next,
  Post,
  Redirect,
  Res,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { Mutation, Query, ResolveField, ResolveReference, Resolver, Subscription } from '@nestjs/graphql';
import { EventPattern, GrpcStreamCall, MessagePattern } from '@nestjs/microservices';
import { ApiResponse, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import {
  addFilter,
  addInterceptor,
  apiResponsesOf,
  classFactsOf,
  controllerRouteOf,
  filtersOf,
  guardsOn,
  hasPattern,
  importsOf,
  injectedInto,
  interceptorsOf,
  isFieldOrReference,
  isGateway,
  isOperation,
  isRawStream,
  isRedirect,
  isRoute,
  isServerProperty,
  isSubscribed,
  methodFactsOf,
  modulePathsOf,
  pathsOf,
  pluginTypeOf,
  sendsResponseItself,
  setApiResponses,
  successStatusOf,
} from '../../../src/nest/nest-metadata.js';

// Each test applies a decorator of Nest and reads what it stores: a version of Nest that renames a key fails here.

type Class = abstract new (...args: never[]) => object;

/** The function of a method. */
function method(classRef: Class, name = 'm'): object {
  return (classRef.prototype as Readonly<Record<string, object>>)[name]!;
}

@Injectable()
class AnyGuard {
  canActivate(): boolean {
    return true;
  }
}

class OtherGuard extends AnyGuard {}

class AnyInterceptor implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler) {
    return next.handle();
  }
}

@Catch()
class AnyFilter implements ExceptionFilter {
  catch() {}
}

/** Without any decorator. */
class Plain {
  m() {}
}

describe('guards, interceptors and filters', () => {
  @UseGuards(AnyGuard)
  class Handlers {
    @UseGuards(OtherGuard)
    @UseInterceptors(AnyInterceptor)
    @UseFilters(AnyFilter)
    m() {}
  }

  it('reads the guards of a class and of a handler, in their order', () => {
    expect(guardsOn(Handlers, method(Handlers))).toEqual([AnyGuard, OtherGuard]);
    expect(guardsOn(Plain, method(Plain))).toEqual([]);
  });

  it('reads the interceptors of a handler, and adds one around them', () => {
    expect(interceptorsOf(method(Handlers))).toEqual([AnyInterceptor]);
    addInterceptor(method(Handlers), 'ours');
    expect(interceptorsOf(method(Handlers))).toEqual(['ours', AnyInterceptor]);
    expect(interceptorsOf(method(Plain))).toEqual([]);
  });

  it('reads the filters of a handler, and adds one that runs first', () => {
    expect(filtersOf(method(Handlers))).toEqual([AnyFilter]);
    addFilter(method(Handlers), 'ours');
    expect(filtersOf(method(Handlers))).toEqual([AnyFilter, 'ours']);
    expect(filtersOf(method(Plain))).toEqual([]);
  });

  it('reads a value that is not a list as none', () => {
    class Odd {
      m() {}
    }
    Reflect.defineMetadata('__guards__', 5, Odd);
    expect(guardsOn(Odd, method(Odd))).toEqual([]);
  });
});

describe('what a class injects', () => {
  it('reads types of constructor parameters', () => {
    @Injectable()
    class ByType {
      constructor(readonly guard: AnyGuard) {}
    }
    expect(injectedInto(ByType)).toEqual([AnyGuard]);
  });

  it('reads tokens of constructor parameters', () => {
    class ByToken {
      constructor(@Inject('token') readonly guard: object) {}
    }
    expect(injectedInto(ByToken)).toContain('token');
  });

  it('reads tokens of properties', () => {
    class ByProperty {
      @Inject('token') readonly guard: unknown;
    }
    expect(injectedInto(ByProperty)).toContain('token');
    expect(injectedInto(Plain)).toEqual([]);
  });
});

it('reads the imports of a module', () => {
  const dynamic = { module: class {} };
  @Module({ imports: [Plain, dynamic] })
  class AppModule {}
  expect(importsOf(AppModule)).toEqual([Plain, dynamic]);
  expect(importsOf(Plain)).toEqual([]);
});

describe('routes', () => {
  @Controller({ path: 'cats', host: 'example.org', version: ['1', '2'] })
  class Cats {
    @Get('list')
    list() {}
    @Post()
    post() {}
    @Get(['a', ':b'])
    several() {}
    @Post('accepted')
    @HttpCode(202)
    accepted() {}
    @Get('moved')
    @Redirect('/there')
    moved() {}
    @Get('self')
    self(@Res() response: unknown) {
      return response;
    }
    @Get('next')
    next(@Next() next: unknown) {
      return next;
    }
    @Get('passthrough')
    passthrough(@Res({ passthrough: true }) response: unknown) {
      return response;
    }
    other() {}
  }
  const of = (name: keyof Cats): object => method(Cats, name);

  it('reads path, host and version of a controller', () => {
    expect(controllerRouteOf(Cats)).toEqual(['cats', 'example.org', ['1', '2']]);
    expect(controllerRouteOf(Plain)).toEqual([undefined, undefined, undefined]);
  });

  it('reads the paths of a route', () => {
    expect(pathsOf(Cats, of('list'))).toEqual(['cats', 'list']);
    expect(pathsOf(Cats, of('post'))).toEqual(['cats', '/']);
    expect(pathsOf(Cats, of('several'))).toEqual(['cats', 'a', ':b']);
    expect(pathsOf(Plain, of('other'))).toEqual([undefined, undefined]);
  });

  it('tells routes from other methods', () => {
    expect(isRoute(of('list'))).toBe(true);
    expect(isRoute(of('other'))).toBe(false);
  });

  it('reads the method of a route, and the status of its success', () => {
    expect(successStatusOf(of('list'))).toBe(200);
    expect(successStatusOf(of('post'))).toBe(201);
    expect(successStatusOf(of('accepted'))).toBe(202);
  });

  it('reads a redirection', () => {
    expect(isRedirect(of('moved'))).toBe(true);
    expect(isRedirect(of('list'))).toBe(false);
  });

  it('reads parameters for the response and for next', () => {
    expect(sendsResponseItself(Cats, 'self')).toBe(true);
    expect(sendsResponseItself(Cats, 'next')).toBe(true);
    expect(sendsResponseItself(Cats, 'list')).toBe(false);
  });

  it('reads that the response is left to Nest', () => {
    expect(sendsResponseItself(Cats, 'passthrough')).toBe(false);
  });

  it('reads the facts of a route', () => {
    expect(methodFactsOf(of('accepted')).slice(0, 2)).toEqual(['accepted', 1]);
  });
});

describe('message handlers', () => {
  class Messages {
    @MessagePattern({ cmd: 'sum' })
    message() {}
    @EventPattern('created')
    event(data: unknown) {
      return data;
    }
    @GrpcStreamCall('Limits', 'Stream')
    stream(call: unknown) {
      return call;
    }
    other() {}
  }
  const of = (name: keyof Messages): object => method(Messages, name);

  it('reads patterns', () => {
    expect(methodFactsOf(of('message'))).toContainEqual([{ cmd: 'sum' }]);
    expect(methodFactsOf(of('event'))).toContainEqual(['created']);
    expect(methodFactsOf(of('other'))).toEqual(Array(6).fill(undefined));
    const stream = [{ service: 'Limits', rpc: 'Stream', streaming: 'pt_stream' }];
    expect(methodFactsOf(of('stream'))).toContainEqual(stream);
  });

  it('tells a raw gRPC stream from other handlers', () => {
    const names = ['message', 'event', 'stream', 'other'] as const;
    expect(names.map((name) => isRawStream(of(name)))).toEqual([false, false, true, false]);
  });

  it('tells handlers of patterns from other methods', () => {
    expect(['message', 'event', 'stream', 'other'].map((name) => hasPattern(method(Messages, name)))).toEqual(
      [true, true, true, false],
    );
  });
});

describe('gateways', () => {
  @WebSocketGateway(8080, { namespace: 'chat' })
  class Chat {
    @WebSocketServer() server: unknown;
    plain: unknown;
    @SubscribeMessage('send')
    send() {}
    other() {}
  }

  it('tells gateways from other classes', () => {
    expect([isGateway(Chat), isGateway(Plain)]).toEqual([true, false]);
  });

  it('tells messages from other methods', () => {
    expect(isSubscribed(method(Chat, 'send'))).toBe(true);
    expect(isSubscribed(method(Chat, 'other'))).toBe(false);
  });

  it('finds the property of the server', () => {
    const gateway = new Chat();
    expect(isServerProperty(gateway, 'server')).toBe(true);
    expect(isServerProperty(gateway, 'plain')).toBe(false);
  });

  it('reads the options and the port of a gateway', () => {
    expect(classFactsOf(Chat)).toEqual([{ namespace: 'chat' }, 8080, undefined]);
  });

  it('reads the name of a message', () => {
    expect(methodFactsOf(method(Chat, 'send'))).toContain('send');
  });
});

describe('resolvers', () => {
  @Resolver('Word')
  class Words {
    @Query(() => String, { name: 'word' })
    query() {}
    @Mutation(() => String)
    mutation() {}
    @Subscription(() => String)
    subscription() {}
    @ResolveField('length')
    field() {}
    @ResolveReference()
    reference() {}
    other() {}
  }
  const all = ['query', 'mutation', 'subscription', 'field', 'reference', 'other'].map((name) =>
    method(Words, name),
  );

  it('tells operations from other methods', () => {
    expect(all.map(isOperation)).toEqual([true, true, true, false, false, false]);
  });

  it('tells fields and references from other methods', () => {
    expect(all.map(isFieldOrReference)).toEqual([false, false, false, true, true, false]);
  });

  it('reads the names of a resolver and of its operations', () => {
    expect(classFactsOf(Words).at(-1)).toBe('Word');
    expect(methodFactsOf(all[0]!).slice(-2)).toEqual(['Query', 'word']);
  });
});

describe('OpenAPI documents', () => {
  @ApiResponse({ status: 500, description: 'of the class' })
  class Documented {
    @ApiResponse({ status: 404, description: 'of the handler' })
    m() {}
    other() {}
  }

  it('reads responses of a class and of a handler, and replaces those of a handler', () => {
    expect(apiResponsesOf(Documented)).toMatchObject({ 500: { description: 'of the class' } });
    expect(apiResponsesOf(method(Documented))).toMatchObject({ 404: { description: 'of the handler' } });
    expect(apiResponsesOf(method(Documented, 'other'))).toBeUndefined();
    setApiResponses(method(Documented), { 429: { description: 'ours' } });
    expect(apiResponsesOf(method(Documented))).toEqual({ 429: { description: 'ours' } });
  });

  it('reads what the compiler plugin has found out', async () => {
    const found = { Documented: { m: { type: [String] }, other: { summary: 'no type' } } };
    const controllers = [[Promise.resolve({ Documented }), found]];
    await SwaggerModule.loadPluginMetadata(() => Promise.resolve({ '@nestjs/swagger': { controllers } }));
    expect(pluginTypeOf(Documented, 'm')).toEqual([String]);
    expect(pluginTypeOf(Documented, 'other')).toBeUndefined();
    expect(pluginTypeOf(Plain, 'm')).toBeUndefined();
  });
});

describe('a method without decorators', () => {
  it('has no facts', () => {
    expect(methodFactsOf(method(Plain))).toEqual(Array(6).fill(undefined));
    expect(classFactsOf(Plain)).toEqual(Array(3).fill(undefined));
  });
});

describe('modules', () => {
  it('have the path of RouterModule', async () => {
    @Module({})
    class Shop {}
    expect(modulePathsOf(Shop)).toEqual([]);
    const routes = RouterModule.register([{ path: 'of', children: [{ path: ':shop', module: Shop }] }]);
    const app = await Test.createTestingModule({ imports: [Shop, routes] }).compile();
    expect(modulePathsOf(Shop)).toEqual(['/of/:shop']);
    await app.close();
  });
});
