import 'reflect-metadata';

// The metadata keys of Nest's decorators, and readers for their values. The keys are private to Nest:
// test/unit/nest/nest-metadata.test.ts applies each decorator and reads it here, so a version that renames one fails there.

// @nestjs/common 11.2 and 12.5
const PATH = 'path';
/** Followed by the id of the application. */
const MODULE_PATH = '__module_path__';
const HOST = 'host';
const VERSION = '__version__';
const METHOD = 'method';
const HTTP_CODE = '__httpCode__';
const REDIRECT = '__redirect__';
const ROUTE_ARGUMENTS = '__routeArguments__';
const PASSTHROUGH = '__responsePassthrough__';
const GUARDS = '__guards__';
const INTERCEPTORS = '__interceptors__';
const FILTERS = '__exceptionFilters__';
const PARAMETER_TYPES = 'design:paramtypes';
const PARAMETER_TOKENS = 'self:paramtypes';
const PROPERTY_TOKENS = 'self:properties_metadata';
const IMPORTS = 'imports';
// @nestjs/microservices 11.2 and 12.1
const PATTERN = 'microservices:pattern';
const PATTERN_KIND = 'microservices:handler_type';
/** In the pattern of a raw stream. */
const RAW_STREAM = 'pt_stream';
// @nestjs/websockets 11.2 and 12.1
const IS_GATEWAY = 'websockets:is_gateway';
const GATEWAY_OPTIONS = 'websockets:gateway_options';
const GATEWAY_PORT = 'port';
const IS_SERVER = 'websockets:is_socket';
const IS_SUBSCRIBED = 'websockets:message_mapping';
const MESSAGE = 'message';
// @nestjs/graphql 13.4 and 14.0
const RESOLVER_TYPE = 'graphql:resolver_type';
const RESOLVER_NAME = 'graphql:resolver_name';
const IS_FIELD = 'graphql:resolve_property';
const IS_REFERENCE = 'graphql:resolve_reference';
// @nestjs/swagger 11.4 and 12.0
const API_RESPONSES = 'swagger/apiResponse';
/** A static method that the compiler plugin of `@nestjs/swagger` adds to classes. */
const PLUGIN = '_OPENAPI_METADATA_FACTORY';

const POST = 1;
/** Matches the kinds `0`, the request, `1`, the response, and `2`, `next`, in `kind:index`. */
const RESPONSE_OR_NEXT = /^[12]:/;
const OPERATIONS: readonly unknown[] = ['Query', 'Mutation', 'Subscription'];

/** The guards of `@UseGuards` for a handler: those of its class, then its own. */
export function guardsOn(classRef: object, method: object): readonly unknown[] {
  return [...listAt(GUARDS, classRef), ...listAt(GUARDS, method)];
}

/** The interceptors of `@UseInterceptors` on a handler itself. */
export function interceptorsOf(method: object): readonly unknown[] {
  return listAt(INTERCEPTORS, method);
}

/** Adds an interceptor around all others of a handler. Nest must not have read the handler yet. */
export function addInterceptor(method: object, interceptor: unknown): void {
  Reflect.defineMetadata(INTERCEPTORS, [interceptor, ...interceptorsOf(method)], method);
}

/** The filters of `@UseFilters` on a handler itself. */
export function filtersOf(method: object): readonly unknown[] {
  return listAt(FILTERS, method);
}

/** Adds a filter that runs before all others of a handler. Nest must not have read the handler yet. */
export function addFilter(method: object, filter: unknown): void {
  // Nest tries the last one first
  Reflect.defineMetadata(FILTERS, [...filtersOf(method), filter], method);
}

/** The types and tokens that a class injects into its constructor and its properties. */
export function injectedInto(classRef: object): readonly unknown[] {
  const tokens = listAt(PARAMETER_TOKENS, classRef) as readonly { readonly param?: unknown }[];
  const properties = listAt(PROPERTY_TOKENS, classRef) as readonly { readonly type?: unknown }[];
  return [
    ...listAt(PARAMETER_TYPES, classRef),
    ...tokens.map(({ param }) => param),
    ...properties.map(({ type }) => type),
  ];
}

/** The modules that `@Module` imports, as classes or dynamic modules. */
export function importsOf(moduleClass: object): readonly unknown[] {
  return listAt(IMPORTS, moduleClass);
}

/** The path, host and version of `@Controller`, each one value or a list. */
export function controllerRouteOf(classRef: object): readonly unknown[] {
  return [PATH, HOST, VERSION].map((key) => valueAt(key, classRef));
}

/** The paths of a route: of its controller and its own, each one value or a list. */
export function pathsOf(classRef: object, method: object): readonly unknown[] {
  return [valueAt(PATH, classRef), valueAt(PATH, method)].flat();
}

/** The paths of a module by `RouterModule`, of this application and of others in the process. */
export function modulePathsOf(moduleClass: object): readonly unknown[] {
  const keys: readonly unknown[] = Reflect.getMetadataKeys(moduleClass);
  return keys
    .filter((key): key is string => typeof key === 'string' && key.startsWith(MODULE_PATH))
    .map((key) => valueAt(key, moduleClass));
}

/** Whether a method has `@Get`, `@Post` or another decorator of a route. */
export function isRoute(method: object): boolean {
  return Reflect.hasMetadata(PATH, method);
}

/** The status of a route's successful responses: that of `@HttpCode`, or 201 for `@Post` and 200 for all others. */
export function successStatusOf(method: object): number {
  const isPost = valueAt(METHOD, method) === POST;
  return (valueAt(HTTP_CODE, method) as number | undefined) ?? (isPost ? 201 : 200);
}

/** Whether a route has `@Redirect`. */
export function isRedirect(method: object): boolean {
  return Reflect.hasMetadata(REDIRECT, method);
}

/** Whether a route has `@Res()` or `@Next()` without `passthrough`: then Nest does not send the response. */
export function sendsResponseItself(classRef: object, name: string): boolean {
  if (Reflect.getMetadata(PASSTHROUGH, classRef, name) === true) return false;
  const parameters = (Reflect.getMetadata(ROUTE_ARGUMENTS, classRef, name) ?? {}) as object;
  return Object.keys(parameters).some((kindAndIndex) => RESPONSE_OR_NEXT.test(kindAndIndex));
}

/** Whether a method has `@GrpcStreamCall`. */
export function isRawStream(method: object): boolean {
  return listAt(PATTERN, method).some(
    (pattern) => (Object(pattern) as { streaming?: unknown }).streaming === RAW_STREAM,
  );
}

/** Whether a method has a decorator of a message or event pattern. */
export function hasPattern(method: object): boolean {
  return Reflect.hasMetadata(PATTERN_KIND, method);
}

/** Whether a class has `@WebSocketGateway`. */
export function isGateway(classRef: object): boolean {
  return Reflect.hasMetadata(IS_GATEWAY, classRef);
}

/** Whether a method has `@SubscribeMessage`. */
export function isSubscribed(method: object): boolean {
  return Reflect.hasMetadata(IS_SUBSCRIBED, method);
}

/** Whether a property of a gateway has `@WebSocketServer`. */
export function isServerProperty(gateway: object, property: string): boolean {
  return Reflect.hasMetadata(IS_SERVER, gateway, property);
}

/** Whether a method has `@Query`, `@Mutation` or `@Subscription` of GraphQL. */
export function isOperation(method: object): boolean {
  return OPERATIONS.includes(valueAt(RESOLVER_TYPE, method));
}

/** Whether a method has `@ResolveField` or `@ResolveReference`. */
export function isFieldOrReference(method: object): boolean {
  return Reflect.hasMetadata(IS_FIELD, method) || Reflect.hasMetadata(IS_REFERENCE, method);
}

/** The responses of `@ApiResponse` on a handler or a class, by status. */
export function apiResponsesOf(target: object): Readonly<Record<string, unknown>> | undefined {
  return valueAt(API_RESPONSES, target) as Readonly<Record<string, unknown>> | undefined;
}

/** Replaces the responses of a handler in OpenAPI documents that are written from now on. */
export function setApiResponses(method: object, responses: Readonly<Record<string, unknown>>): void {
  Reflect.defineMetadata(API_RESPONSES, responses, method);
}

/** What a handler returns, as the compiler plugin of `@nestjs/swagger` has found it; `[type]` for a list. */
export function pluginTypeOf(classRef: object, name: string): unknown {
  const { [PLUGIN]: factory } = classRef as {
    readonly [PLUGIN]?: () => Readonly<Record<string, { readonly type?: unknown } | undefined>>;
  };
  return factory?.()[name]?.type;
}

/** What Nest stores of a class's decorators and is the same in each process: one of the parts of a class's identity. */
export function classFactsOf(classRef: object): readonly unknown[] {
  return [GATEWAY_OPTIONS, GATEWAY_PORT, RESOLVER_NAME].map((key) => valueAt(key, classRef));
}

/** The same for a method: its route, its patterns, its message, its operation. */
export function methodFactsOf(method: object): readonly unknown[] {
  return [PATH, METHOD, PATTERN, MESSAGE, RESOLVER_TYPE, RESOLVER_NAME].map((key) => valueAt(key, method));
}

function listAt(key: string, target: object): readonly unknown[] {
  const value = valueAt(key, target);
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function valueAt(key: string, target: object): unknown {
  return Reflect.getMetadata(key, target) as unknown;
}
