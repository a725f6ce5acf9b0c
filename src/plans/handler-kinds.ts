import type { DiscoveryService } from '@nestjs/core';
import 'reflect-metadata';
import type { AppClass } from './discover-classes.js';
import type { ResolvedOptions } from '../freq-limit.options.js';

/**
 * The reason why guards are called for a handler: it is a route, has a message or event pattern, is a message of a gateway, a
 * resolver of an operation or of a field of its results, or belongs to a library with a context adapter in the options.
 */
export type HandlerKind = 'route' | 'pattern' | 'gateway' | 'operation' | 'field' | 'library';

// the metadata keys of Nest's decorators
const ROUTE = 'path';
const PATTERN = 'microservices:handler_type';
const GATEWAY_CLASS = 'websockets:is_gateway';
const GATEWAY_MESSAGE = 'websockets:message_mapping';
const RESOLVER_TYPE = 'graphql:resolver_type';
const RESOLVER_FIELD = 'graphql:resolve_property';
const RESOLVER_REFERENCE = 'graphql:resolve_reference';
const OPERATIONS: readonly unknown[] = ['Query', 'Mutation', 'Subscription'];
/** The token of the options of `@nestjs/graphql`. */
const GRAPHQL_OPTIONS = 'GqlModuleOptions';

/** Finds out whether a method is a handler that guards are called for. */
export class HandlerKinds {
  private readonly libraryKeys: readonly (string | symbol)[];

  constructor(
    { contextAdapters }: Pick<ResolvedOptions, 'contextAdapters'>,
    private readonly discovery: DiscoveryService,
  ) {
    this.libraryKeys = Object.values(contextAdapters).flatMap(({ handlerMetadata = [] }) => handlerMetadata);
  }

  of({ classRef, roles }: AppClass, name: string, method: object): HandlerKind | undefined {
    const has = (key: string): boolean => Reflect.hasMetadata(key, method);
    if (roles.has('controller') && has(ROUTE)) return 'route';
    if (roles.has('controller') && has(PATTERN)) return 'pattern';
    const isGateway = roles.has('provider') && Reflect.hasMetadata(GATEWAY_CLASS, classRef);
    if (isGateway && has(GATEWAY_MESSAGE)) return 'gateway';
    if (roles.has('provider') || roles.has('made')) {
      if (OPERATIONS.includes(Reflect.getMetadata(RESOLVER_TYPE, method))) return 'operation';
      if (has(RESOLVER_FIELD) || has(RESOLVER_REFERENCE)) return 'field';
    }
    const prototype = classRef.prototype as object;
    const isOfLibrary = this.libraryKeys.some(
      (key) => Reflect.hasMetadata(key, method) || Reflect.hasMetadata(key, prototype, name),
    );
    return isOfLibrary ? 'library' : undefined;
  }

  /** What GraphQL calls for fields of results: guards, interceptors. Call it when all providers are instantiated. */
  fieldEnhancers(): readonly unknown[] {
    return this.discovery.getProviders().flatMap(({ token, instance }) => {
      if (token !== GRAPHQL_OPTIONS) return [];
      const { fieldResolverEnhancers } = Object(instance) as { readonly fieldResolverEnhancers?: unknown };
      return Array.isArray(fieldResolverEnhancers) ? (fieldResolverEnhancers as readonly unknown[]) : [];
    });
  }
}
