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

/** A client, the calls that are made by it, and a way to send them again. */
export class RecordedClient {
  /** @param db the number of the database of Redis */
  constructor(port, db = 0) {
    this.client = new Redis({ port, db, ...CLIENT_OPTIONS });
    this.sender = new TurnCalls(this.client);
    for (const command of ['evalshaBuffer', 'evalBuffer']) {
      const send = this.client[command].bind(this.client);
      this.client[command] = (...args) => {
        if (command === this.command) this.calls?.push(args);
        return send(...args);
      };
    }
  }

  /**
   * @param command EVAL is also sent for a script that Redis does not have yet
   * @returns the arguments of each such command while this runs
   */
  async callsOf(run, command = 'evalshaBuffer') {
    this.command = command;
    const calls = (this.calls = []);
    await run();
    this.calls = undefined;
    return calls;
  }

  /** Of the counter of the first call. */
  bytesOf([[, , key]]) {
    return this.client.memory('USAGE', key);
  }

  /** Sends calls again. @returns milliseconds of each */
  replay(calls, inFlight) {
    return sendAll((n) => this.sender.send(calls[n]), inFlight, calls.length);
  }
}

/** Records the calls of the service. */
export class Recorder extends RecordedClient {
  static async open(port, db) {
    const recorder = new Recorder(port, db);
    const { app, service } = await serviceOf({ ...OPTIONS, redis: recorder.client });
    return Object.assign(recorder, { app, service });
  }

  /**
   * @param passes whether the requests pass, once each has been sent before
   * @returns for each request, the arguments of its EVALSHA; all counters are open then
   */
  async record(requests, passes) {
    await this.send(requests);
    let verdicts;
    const calls = await this.callsOf(async () => (verdicts = await this.send(requests)));
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

  async close() {
    await this.app.close();
    this.client.disconnect();
  }
}
