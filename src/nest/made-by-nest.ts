import { type FreqLimitError, invalidOptions } from '../core/errors.js';

type ClassRef = abstract new (...args: never[]) => object;

const BY_NEST = 'it needs other providers, so Nest has to create it';

/** Methods that an application overrides in the throttler's guard, and what to use here. */
const THROTTLER_METHODS: Readonly<Record<string, string>> = {
  getTracker: 'the option key of a rule, or defaultKey of the module',
  generateKey: 'the options name, scope and key of a rule',
  shouldSkip: 'the option skipIf of a rule or of the module',
  throwThrottlingException: 'the option exceptionFactory of the module',
  getErrorMessage: 'the option message of a rule or of the module',
  getRequestResponse: 'the option contextAdapters of the module',
  handleRequest: 'the option onVerdict of the module, or override canActivate',
};

/**
 * Checks what the constructor of the guard got, and that a subclass does not rely on methods that are never called.
 * @param made the class that is created
 * @param injected the last argument of the constructor
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS`
 */
export function checkGuard(guard: ClassRef, made: ClassRef, injected: unknown): void {
  if (injected === undefined) throw notInjected(guard, made);
  const methods = made.prototype as CanActivate & Readonly<Record<string, unknown>>;
  // a guard with a canActivate of its own may call any method
  if (methods.canActivate !== (guard.prototype as CanActivate).canActivate) return;
  const unused = Object.keys(THROTTLER_METHODS).find((name) => typeof methods[name] === 'function');
  if (unused === undefined) return;
  throw invalidOptions(
    `${made.name}.${unused}: ${guard.name} never calls this method; remove it, and use ${THROTTLER_METHODS[unused]}`,
  );
}

interface CanActivate {
  readonly canActivate: unknown;
}

function notInjected(guard: ClassRef, made: ClassRef): FreqLimitError {
  const { name } = guard;
  return invalidOptions(
    made === guard
      ? `${name}: ${BY_NEST}: write @UseGuards(${name}) without new, or app.useGlobalGuards(app.get(${name})). ` +
          'FreqLimitModule.forRoot() already registers it for all handlers'
      : `${made.name}: its constructor calls super() without the arguments of ${name}; remove the constructor, and inject ` +
          'properties: @Inject(Users) private readonly users: Users',
  );
}

/**
 * Checks that Nest has created `FreqLimitService`.
 * @param injected the last argument of the constructor
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS`
 */
export function checkService({ name }: ClassRef, injected: unknown): void {
  if (injected !== undefined) return;
  throw invalidOptions(
    `${name}: ${BY_NEST}: inject it with constructor(private readonly limits: ${name}), or get it with app.get(${name})`,
  );
}

/**
 * Checks that Nest has created `FreqLimitModule`.
 * @param injected the last argument of the constructor
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS`
 */
export function checkModule({ name }: ClassRef, injected: unknown): void {
  if (injected !== undefined) return;
  throw invalidOptions(`${name}: ${BY_NEST}: write imports: [${name}.forRoot()] without new`);
}
