export { FreqLimitThrottlerStorage } from './throttler-storage.js';
