// The examples count in the Redis of REDIS_URL. Their tests expect fresh counters, those of the memory store.
delete process.env['REDIS_URL'];
