// Sends calls of scripts by ioredis. All calls of a turn of the event loop leave by one write.

export class TurnCalls {
  constructor(client) {
    this.client = client;
    this.unsent = [];
  }

  /** @param args of EVALSHA: the SHA-1 of the script, the number of keys, the keys, the arguments */
  send(args) {
    return new Promise((resolve, reject) => {
      if (this.unsent.push({ args, resolve, reject }) === 1) setImmediate(() => this.flush());
    });
  }

  flush() {
    const { stream } = this.client;
    stream.cork();
    for (const { args, resolve, reject } of this.unsent)
      this.client.evalshaBuffer(...args).then(resolve, reject);
    stream.uncork();
    this.unsent = [];
  }
}
