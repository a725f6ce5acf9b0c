import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** What `npm publish` sends. */
export interface Upload {
  readonly versions: Record<string, Record<string, unknown>>;
  readonly _attachments: Record<string, { readonly data: string }>;
}

/** A registry of npm packages, without any. */
export class TestRegistry {
  readonly uploads: Upload[] = [];
  private readonly server = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.method === 'PUT') this.uploads.push(JSON.parse(body) as Upload);
      response.writeHead(request.method === 'PUT' ? 200 : 404).end('{}');
    });
  });

  static async start(): Promise<TestRegistry> {
    const registry = new TestRegistry();
    await once(registry.server.listen(0, '127.0.0.1'), 'listening');
    return registry;
  }

  /** Makes npm in a folder use this registry. */
  async use(folder: string): Promise<void> {
    const address = `//127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
    await writeFile(join(folder, '.npmrc'), `registry=http:${address}\n${address}:_authToken=any\n`);
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
