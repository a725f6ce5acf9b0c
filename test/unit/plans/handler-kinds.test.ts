import { Controller, Get, SetMetadata } from '@nestjs/common';
import { Query, ResolveField, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import type { AppClass } from '../../../src/plans/discover-classes.js';
import { HandlerKinds } from '../../../src/plans/handler-kinds.js';
import { fakeDiscovery } from './fake-discovery.js';

const KEY = Symbol('queue');

class All {
  @Get()
  route() {}
  @MessagePattern('message')
  pattern() {}
  @SubscribeMessage('message')
  gateway() {
    return 'ok';
  }
  @Query(() => String)
  operation() {}
  @ResolveField('field')
  field() {}
  @SetMetadata(KEY, true)
  library() {}
  none() {}
}

@Controller()
class Routes extends All {}
@WebSocketGateway()
class Gateway extends All {}
@Resolver()
class Words extends All {}

type Role = 'controller' | 'provider' | 'instance';

/** The methods that are handlers in a class of this role. */
function kindsIn(classRef: AppClass['classRef'], role: Role, handlerMetadata?: symbol): string[] {
  const appClass: AppClass = {
    classRef,
    moduleName: '',
    tokens: [],
    roles: new Set([role]),
    instance: () => undefined,
  };
  const adapters = handlerMetadata === undefined ? {} : { jobs: { handlerMetadata } };
  const kinds = new HandlerKinds({ contextAdapters: adapters }, fakeDiscovery({}));
  return Object.getOwnPropertyNames(All.prototype).filter((name) => {
    const method = (All.prototype as unknown as Record<string, object>)[name]!;
    const kind = name === 'constructor' ? undefined : kinds.of(appClass, name, method);
    return kind !== undefined && kind === name;
  });
}

it.each<[string, AppClass['classRef'], Role, string[]]>([
  ['a controller has routes and patterns', Routes, 'controller', ['route', 'pattern']],
  ['a provider has operations and fields', Words, 'provider', ['operation', 'field']],
  ['a gateway has messages too', Gateway, 'provider', ['gateway', 'operation', 'field']],
  ['an instance of a factory has operations and fields', Gateway, 'instance', ['operation', 'field']],
])('%s', (_, classRef, role, expected) => {
  expect(kindsIn(classRef, role)).toEqual(expected);
});

it('a class has handlers of a library if the options name its metadata', () => {
  expect(kindsIn(Words, 'provider', KEY)).toEqual(['operation', 'field', 'library']);
});

it.each<[unknown, unknown[]]>([
  [{ fieldResolverEnhancers: ['guards'] }, ['guards']],
  [{}, []],
  [undefined, []],
  [{ fieldResolverEnhancers: 'guards' }, []],
])('the options %j of GraphQL enhance fields with %j', (instance, expected) => {
  const providers = [{ token: 'GqlModuleOptions', instance }, { token: 'other' }];
  expect(new HandlerKinds({ contextAdapters: {} }, fakeDiscovery({ providers })).fieldEnhancers()).toEqual(
    expected,
  );
});
