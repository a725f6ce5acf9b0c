import type { INestApplication } from '@nestjs/common';

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

/** Calls the application over HTTP and closes it. */
export async function sendRequests(app: INestApplication): Promise<{ codes: Answer[]; free: Answer[] }> {
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const codes: Answer[] = [];
  const free: Answer[] = [];
  for (const phone of ['1', '1', '1', '2', '2', '2', '3']) codes.push(await read(sendCode(url, phone)));
  for (let i = 0; i < 2; i++) free.push(await read(fetch(`${url}/sms/free`)));
  await app.close();
  return { codes, free };
}

export function sendCode(url: string, phone: string): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${url}/sms/code`, { method: 'POST', headers, body: JSON.stringify({ phone }) });
}

async function read(answer: Promise<Response>): Promise<Answer> {
  const response = await answer;
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
