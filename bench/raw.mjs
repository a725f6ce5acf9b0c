// Prepared native commands on a socket. Replies are only counted. No limits; INCR sets no TTL.
import { once } from 'node:events';
import { connect } from 'node:net';

const LINE_FEED = 10;

export class RawPipeline {
  /** @param requests for each, the commands as arrays of words */
  static async open(port, requests) {
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    await once(socket, 'connect');
    return new RawPipeline(socket, requests);
  }

  constructor(socket, requests) {
    this.socket = socket;
    this.requests = requests.map((commands) => Buffer.from(commands.map(encode).join('')));
    this.replies = requests[0].length;
    this.next = 0;
  }

  /** Keeps `inFlight` requests in flight until the time is over. @returns milliseconds of each */
  run(inFlight, ms) {
    const end = performance.now() + ms;
    const sent = [];
    const latencies = [];
    let answered = 0;
    const send = (count) => {
      const now = performance.now();
      for (let i = 0; i < count; i++) sent.push(now);
      this.write(count);
    };
    return new Promise((resolve) => {
      const read = (chunk) => {
        for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) answered++;
        const done = Math.floor(answered / this.replies);
        const now = performance.now();
        const fresh = done - latencies.length;
        while (latencies.length < done) latencies.push(now - sent[latencies.length]);
        if (fresh > 0 && now < end) send(fresh);
        if (latencies.length === sent.length) {
          this.socket.off('data', read);
          resolve(latencies);
        }
      };
      this.socket.on('data', read);
      send(inFlight);
    });
  }

  /** The next requests, all by one write. */
  write(count) {
    const buffers = Array.from({ length: count }, () => this.requests[this.next++ % this.requests.length]);
    this.socket.write(buffers.length === 1 ? buffers[0] : Buffer.concat(buffers));
  }
}

function encode(words) {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
