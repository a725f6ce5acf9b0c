// The applications under load, each in its own process.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const APP = fileURLToPath(new URL('apps/app.mjs', import.meta.url));

export class Application {
  static async start(name, spec) {
    const child = fork(APP, [JSON.stringify(spec)]);
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`the application "${name}" ended with ${code}`);
    });
    ended.catch(() => undefined);
    const [{ port }] = await Promise.race([once(child, 'message'), ended]);
    return new Application(child, port);
  }

  constructor(child, port) {
    Object.assign(this, { child, port });
  }

  /** @param question one that apps/app.mjs knows */
  async ask(question) {
    const said = once(this.child, 'message');
    this.child.send(question);
    return (await said)[0].answer;
  }

  async stop() {
    if (this.child.exitCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.disconnect();
    await ended;
  }
}
