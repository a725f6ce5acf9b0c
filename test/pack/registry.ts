import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What `npm publish` sends. */
export interface Upload {
  readonly versions: Record<string, Record<string, unknown>>;
  readonly _attachments: Record<string, { readonly data: string }>;
}

/** A registry of npm packages, without any. */
export class TestRegistry {
  readonly uploads: Upload[] = [];
  private isSilent = false;
  private readonly server = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.method === 'PUT') this.receive(body, response);
      else response.writeHead(404).end('{}');
    });
  });

  static async start(): Promise<TestRegistry> {
    const registry = new TestRegistry();
    await once(registry.server.listen(0, '127.0.0.1'), 'listening');
    return registry;
  }

  /** The flags that make npm use this registry. */
  flags(): string[] {
    const address = `//127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
    return [`--registry=http:${address}`, `--${address}:_authToken=any`];
  }

  /** Leaves the next upload without an answer, and resolves when it has come. */
  async silentUpload(): Promise<void> {
    this.isSilent = true;
    await once(this.server, 'upload');
  }

  private receive(body: string, response: ServerResponse): void {
    this.uploads.push(JSON.parse(body) as Upload);
    this.server.emit('upload');
    if (!this.isSilent) response.end('{}');
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
