// Calls that the library makes are recorded, and sent again: all scripts get their calls in the same way, and by little work of
// the process.
import { Redis } from 'ioredis';
import { sendAll } from '../race.mjs';
import { serviceOf } from '../subjects.mjs';
import { TurnCalls } from '../turn-calls.mjs';

// each request is a call of its own, also if it is denied
const OPTIONS = { coalesce: false, denyCache: false, timeoutMs: 10_000 };

// the library warns of a client without them
const CLIENT_OPTIONS = {
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  socketTimeout: 10_000,
};

export class Recorder {
  /** @param db the number of the database of Redis */
  static async open(port, db = 0) {
    const client = new Redis({ port, db, ...CLIENT_OPTIONS });
    const recorder = new Recorder(client);
    const { app, service } = await serviceOf({ ...OPTIONS, redis: client });
    return Object.assign(recorder, { app, service });
  }

  constructor(client) {
    this.client = client;
    this.sender = new TurnCalls(client);
    const evalsha = client.evalshaBuffer.bind(client);
    client.evalshaBuffer = (...args) => {
      this.calls?.push(args);
      return evalsha(...args);
    };
  }

  /**
   * @param passes whether the requests pass, once each has been sent before
   * @returns for each request, the arguments of its EVALSHA; all counters are open then
   */
  async record(requests, passes) {
    await this.send(requests);
    this.calls = [];
    const verdicts = await this.send(requests);
    const { calls } = this;
    this.calls = undefined;
    if (calls.length !== requests.length || verdicts.some(({ allowed }) => allowed !== passes))
      throw new Error(
        `not each of ${requests.length} requests is a call and ${passes ? 'passes' : 'is denied'}`,
      );
    return calls;
  }

  async send(requests) {
    const verdicts = [];
    await sendAll(async (n) => verdicts.push(await this.service.consume(requests[n])), 16, requests.length);
    return verdicts;
  }

  /** Of the counter of the first call. */
  bytesOf([[, , key]]) {
    return this.client.memory('USAGE', key);
  }

  /** Sends calls again. @returns milliseconds of each */
  replay(calls, inFlight) {
    return sendAll((n) => this.sender.send(calls[n]), inFlight, calls.length);
  }

  async close() {
    await this.app.close();
    this.client.disconnect();
  }
}
