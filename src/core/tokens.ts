// Injection tokens are texts with the package's name, so that they are the same when the package is loaded twice.

/** The options as `forRoot` got them, or as the factory of `forRootAsync` answered them. */
export const FREQ_LIMIT_OPTIONS = 'nestjs-freq-limit:options';
/** The options with every default filled in. */
export const FREQ_LIMIT_RESOLVED_OPTIONS = 'nestjs-freq-limit:resolved-options';
/** The plans of all handlers. */
export const FREQ_LIMIT_PLANS = 'nestjs-freq-limit:plans';
/** How each kind of context is read and answered. */
export const FREQ_LIMIT_ADAPTERS = 'nestjs-freq-limit:adapters';
/** Who tells hooks and channels of verdicts. */
export const FREQ_LIMIT_EVENTS = 'nestjs-freq-limit:reporter';
/** The store that counts. */
export const FREQ_LIMIT_STORE = 'nestjs-freq-limit:store';

/** Marks the classes of our guards, so that they are known where the package is loaded twice. */
export const FREQ_LIMIT_GUARD = Symbol.for('nestjs-freq-limit:guard');
