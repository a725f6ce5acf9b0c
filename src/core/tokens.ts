// Injection tokens are strings, which are equal even if the package is loaded twice. Two versions of the package only need the
// same name for FREQ_LIMIT_STORE, by which a second registration is found.

/**
 * The store that counts. Nest prints this name if FreqLimitModule is missing: "Please make sure that the argument … is
 * available". So the name says what to import, and the constructors of public classes get the store as their first argument.
 */
export const FREQ_LIMIT_STORE = 'FreqLimitModule.forRoot() in the imports of the root module';
/** The options as given to `forRoot`, or returned by the factory of `forRootAsync`. */
export const FREQ_LIMIT_OPTIONS = 'nestjs-freq-limit:options';
/** The checked options, with all defaults. */
export const FREQ_LIMIT_RESOLVED_OPTIONS = 'nestjs-freq-limit:resolved-options';
/** The plans of all handlers. */
export const FREQ_LIMIT_PLANS = 'nestjs-freq-limit:plans';
/** The adapters for each kind of context. */
export const FREQ_LIMIT_ADAPTERS = 'nestjs-freq-limit:adapters';
/** Calls hooks and publishes to diagnostics channels. */
export const FREQ_LIMIT_EVENTS = 'nestjs-freq-limit:events';

/** Marks the guards of this library, so that they are recognized even if the package is loaded twice. */
export const FREQ_LIMIT_GUARD = Symbol.for('nestjs-freq-limit:guard');
