export { FreqLimitThrottlerStorage, type FreqLimitThrottlerStorageOptions } from './throttler-storage.js';
