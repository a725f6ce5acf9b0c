import type { INestApplication } from '@nestjs/common';

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

/** Calls the application over HTTP and closes it. */
export async function visits(app: INestApplication): Promise<{ codes: Answer[]; free: Answer[] }> {
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const codes: Answer[] = [];
  const free: Answer[] = [];
  for (const phone of ['1', '1', '1', '2', '2', '2', '3']) {
    const headers = { 'content-type': 'application/json' };
    codes.push(await ask(`${url}/sms/code`, { method: 'POST', headers, body: JSON.stringify({ phone }) }));
  }
  for (let i = 0; i < 2; i++) free.push(await ask(`${url}/sms/free`));
  await app.close();
  return { codes, free };
}

async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  const headers: Record<string, string> = {};
  response.headers.forEach((value, name) => {
    headers[name] = value;
  });
  return { status: response.status, headers, body: await response.json() };
}

/** Reports to the test; what goes wrong ends the process with code 1. */
export function report(work: () => Promise<unknown>): void {
  work().then(
    (result) => {
      console.log(JSON.stringify(result));
    },
    (error: unknown) => {
      console.error(error);
      process.exitCode = 1;
    },
  );
}
