// Injection tokens are strings, which are equal even if the package is loaded twice.

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
/** The store that counts. */
export const FREQ_LIMIT_STORE = 'nestjs-freq-limit:store';

/** Marks the guards of this library, so that they are recognized even if the package is loaded twice. */
export const FREQ_LIMIT_GUARD = Symbol.for('nestjs-freq-limit:guard');
