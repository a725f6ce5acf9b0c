import { PROBLEM_CONTENT_TYPE } from './error-body.js';

/** Express's response, as far as it sends JSON. */
interface JsonResponse {
  json: (this: JsonResponse, body: unknown) => unknown;
  setHeader(name: string, value: string): unknown;
}

/**
 * Has this body of an Express response go out as problem details, whoever sends it. Set before, the header would be lost
 * with Nest 11: there whatever is not `application/json` is taken back where an error is answered by an object, with a
 * warning in the log each time.
 * @returns whether the response is Express's
 */
export function sendAsProblem(response: unknown, body: unknown): boolean {
  if (!sendsJson(response)) return false;
  const { json } = response;
  response.json = function (sent) {
    if (sent === body) this.setHeader('Content-Type', PROBLEM_CONTENT_TYPE);
    return json.call(this, sent);
  };
  return true;
}

function sendsJson(response: unknown): response is JsonResponse {
  return typeof (Object(response) as { readonly json?: unknown }).json === 'function';
}
