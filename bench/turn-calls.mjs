// Sends calls of scripts by ioredis. All calls of a turn of the event loop leave by one write.

const SHA1_LENGTH = 40;

export class TurnCalls {
  constructor(client) {
    this.client = client;
    this.unsent = [];
  }

  /** @param args of EVALSHA or EVAL: the SHA-1 of the script or the script, the number of keys, the keys, the arguments */
  send(args) {
    return new Promise((resolve, reject) => {
      if (this.unsent.push({ args, resolve, reject }) === 1) setImmediate(() => this.flush());
    });
  }

  flush() {
    const { stream } = this.client;
    stream.cork();
    for (const { args, resolve, reject } of this.unsent) {
      const command = args[0].length === SHA1_LENGTH ? 'evalshaBuffer' : 'evalBuffer';
      this.client[command](...args).then(resolve, reject);
    }
    stream.uncork();
    this.unsent = [];
  }
}
