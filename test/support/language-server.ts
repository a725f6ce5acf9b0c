import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** A program that speaks the Language Server Protocol over its standard streams. */
export class LanguageServer {
  private readonly child: ChildProcess;
  private readonly waiting = new Map<number | string, (message: Message) => void>();
  private received = Buffer.alloc(0);
  private lastId = 0;

  constructor(program: string, args: readonly string[]) {
    this.child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
    this.child.stdout!.on('data', (data: Buffer) => {
      this.received = Buffer.concat([this.received, data]);
      this.readMessages();
    });
  }

  async request<T>(method: string, params?: unknown): Promise<T> {
    const id = ++this.lastId;
    const answer = new Promise<Message>((resolve) => this.waiting.set(id, resolve));
    this.send({ id, method, params });
    const { result, error } = await answer;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result as T;
  }

  notify(method: string, params?: unknown): void {
    this.send({ method, params });
  }

  /** Ends the server. It also ends if this process does, because its input is then closed. */
  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    await this.request('shutdown').finally(() => {
      this.notify('exit');
      this.child.stdin!.end();
    });
    await ended;
  }

  private send(message: Message): void {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    this.child.stdin!.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.child.stdin!.write(body);
  }

  private readMessages(): void {
    for (;;) {
      const start = this.received.indexOf('\r\n\r\n') + 4;
      const [, length] = /Content-Length: (\d+)/.exec(this.received.subarray(0, start).toString()) ?? [];
      const end = start + Number(length);
      if (start < 4 || this.received.length < end) return;
      const message = JSON.parse(this.received.subarray(start, end).toString()) as Message;
      this.received = this.received.subarray(end);
      this.take(message);
    }
  }

  private take({ id, method, ...answer }: Message): void {
    if (id === undefined) return;
    if (method === undefined) this.waiting.get(id)?.(answer);
    // a question of the server, such as for settings: there are none
    else this.send({ id, result: method === 'workspace/configuration' ? [null] : null });
  }
}
