// The applications under load, in a process of their own. Two processes of the same application can differ by tens of
// microseconds of CPU per request (what the engine compiles, where the memory is), two applications in one process hardly do.
// At a fixed rate several share a process; saturated ones have one each, see http.mjs.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { VARIANTS } from './apps/variants.mjs';

const APP = fileURLToPath(new URL('apps/app.mjs', import.meta.url));

export class Applications {
  /** @param names of variants, each at most once */
  static start(names, where) {
    return Applications.startThese(Object.fromEntries(names.map((name) => [name, VARIANTS[name]])), where);
  }

  /** @param variants by name, each as { kind, options } */
  static async startThese(variants, { platform, redisPort }) {
    const names = Object.keys(variants);
    const spec = { platform, redisPort, variants: Object.values(variants) };
    const child = fork(APP, [JSON.stringify(spec)]);
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`the applications ended with ${code}: ${names.join(', ')}`);
    });
    ended.catch(() => undefined);
    const [{ ports }] = await Promise.race([once(child, 'message'), ended]);
    return new Applications(child, ended, new Map(names.map((name, i) => [name, ports[i]])));
  }

  /** @param ended fails when the process ends @param ports by name */
  constructor(child, ended, ports) {
    Object.assign(this, { child, ended, ports });
  }

  /** @param question one that apps/app.mjs knows */
  async ask(question) {
    const said = once(this.child, 'message');
    this.child.send(question);
    return (await Promise.race([said, this.ended]))[0].answer;
  }

  async stop() {
    if (this.child.exitCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.disconnect();
    await ended;
  }
}
