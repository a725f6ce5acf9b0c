import type { DiscoveryService } from '@nestjs/core';
import 'reflect-metadata';
import {
  hasPattern,
  isFieldOrReference,
  isGateway,
  isOperation,
  isRoute,
  isSubscribed,
} from '../nest/nest-metadata.js';
import type { AppClass } from './discover-classes.js';
import type { PlanOptions } from './plan-options.js';

/**
 * The reason why guards are called for a handler: it is a route, has a message or event pattern, is a message of a gateway, a
 * resolver of an operation or of a field of its results, or belongs to a library with a context adapter in the options.
 */
export type HandlerKind = 'route' | 'pattern' | 'gateway' | 'operation' | 'field' | 'library';

/** The token of the options of `@nestjs/graphql`. */
const GRAPHQL_OPTIONS = 'GqlModuleOptions';

/** Finds out whether a method is a handler that guards are called for. */
export class HandlerKinds {
  private readonly libraryKeys: readonly (string | symbol)[];

  constructor(
    { contextAdapters }: Pick<PlanOptions, 'contextAdapters'>,
    private readonly discovery: DiscoveryService,
  ) {
    this.libraryKeys = Object.values(contextAdapters).flatMap(({ handlerMetadata = [] }) => handlerMetadata);
  }

  of({ classRef, roles }: AppClass, name: string, method: object): HandlerKind | undefined {
    if (roles.has('controller') && isRoute(method)) return 'route';
    if (roles.has('controller') && hasPattern(method)) return 'pattern';
    if (roles.has('provider') && isGateway(classRef) && isSubscribed(method)) return 'gateway';
    if (roles.has('provider') || roles.has('instance')) {
      if (isOperation(method)) return 'operation';
      if (isFieldOrReference(method)) return 'field';
    }
    return this.isOfLibrary(classRef, name, method) ? 'library' : undefined;
  }

  /** What GraphQL runs for fields of results: `guards`, `interceptors`. Call it when all providers are instantiated. */
  fieldEnhancers(): readonly unknown[] {
    return this.discovery.getProviders().flatMap(({ token, instance }) => {
      if (token !== GRAPHQL_OPTIONS) return [];
      const { fieldResolverEnhancers } = Object(instance) as { readonly fieldResolverEnhancers?: unknown };
      return Array.isArray(fieldResolverEnhancers) ? (fieldResolverEnhancers as readonly unknown[]) : [];
    });
  }

  private isOfLibrary({ prototype }: AppClass['classRef'], name: string, method: object): boolean {
    return this.libraryKeys.some(
      (key) => Reflect.hasMetadata(key, method) || Reflect.hasMetadata(key, prototype as object, name),
    );
  }
}
