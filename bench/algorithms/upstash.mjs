// @upstash/ratelimit on a Redis of one's own: it expects the client @upstash/redis, which sends HTTP requests to Upstash.
import { createHash } from 'node:crypto';

/** The client that @upstash/ratelimit calls, on a client of ioredis. */
export class UpstashClient {
  constructor(client) {
    this.client = client;
    this.scripts = new Map();
  }

  async evalsha(sha1, keys, args) {
    const own = this.scripts.get(sha1);
    if (own === undefined) throw new Error('NOSCRIPT');
    return this.client.evalsha(own, keys.length, ...keys, ...args);
  }

  /** The first line of its scripts has a flag that only Upstash knows. Redis runs them without that line. */
  async eval(script, keys, args) {
    const source = script.replace(/^#!.*\n/, '');
    this.scripts.set(sha1Of(script), await this.client.script('LOAD', source));
    return this.client.eval(source, keys.length, ...keys, ...args);
  }
}

function sha1Of(text) {
  return createHash('sha1').update(text).digest('hex');
}
