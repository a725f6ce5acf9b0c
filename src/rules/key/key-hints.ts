/** The parts of a request that a placeholder may read. */
export const ROOTS = ['ip', 'user', 'body', 'params', 'query', 'headers'] as const;
export type Root = (typeof ROOTS)[number];

/** Paths by what people write for them, in lower case and without `_` and `-`. */
const PATHS: ReadonlyMap<string, string> = new Map([
  // a part of a request, alone
  ['ip', 'ip'],
  ['user', 'user.id'],
  ['body', 'body.phone'],
  ['params', 'params.id'],
  ['query', 'query.q'],
  ['headers', 'headers.x-api-key'],
  // a value
  ['ipaddress', 'ip'],
  ['remoteaddress', 'ip'],
  ['clientip', 'ip'],
  ['userid', 'user.id'],
  ['uid', 'user.id'],
  ['id', 'params.id'],
  ['phone', 'body.phone'],
  ['email', 'body.email'],
  ['username', 'body.username'],
  ['apikey', 'headers.x-api-key'],
]);
/** Parts of a request by what people write for them; arguments of resolvers and payloads of messages are the body. */
const ROOT_OF: ReadonlyMap<string, Root> = new Map([
  ['param', 'params'],
  ['header', 'headers'],
  ['args', 'body'],
  ['data', 'body'],
  ['payload', 'body'],
  ['message', 'body'],
]);
/** Matches a name as other libraries mark it: `:id` of a route, `$id`, `%id%`, `<id>`, `[id]`. */
const MARKED = /(?<=^|\/):([a-z_]\w*)|[$%<[]([a-z_]\w*)[%>\]]?/i;

/** A path that exists and that a developer probably meant by this text: `req.user.id` → `user.id`. */
export function pathFor(text: string): string | undefined {
  const [first = '', ...fields] = text
    .trim()
    .replace(/^(?:req|request|ctx|context)\./i, '')
    .split('.');
  const name = first.toLowerCase();
  if (fields.length === 0) return PATHS.get(name.replace(/[_-]/g, ''));
  const root = ROOT_OF.get(name) ?? name;
  if (root === 'ip' || !ROOTS.includes(root as Root)) return undefined;
  return fields.includes('') ? PATHS.get(root) : [root, ...fields].join('.');
}

/** What to write instead of `{text}`, which is not a placeholder: `; write {user.id}`. Empty if it is not known. */
export function hintForPlaceholder(text: string): string {
  const path = pathFor(text);
  if (path !== undefined) return `; write {${path}}`;
  return /^[a-z_]\w*$/i.test(text) ? `; write {params.${text}}, {body.${text}} or {query.${text}}` : '';
}

/** The templates that were probably meant by a constant: `user/:id` → `user/{params.id}`. Empty if none is known. */
export function templatesFor(constant: string): readonly string[] {
  const match = MARKED.exec(constant);
  if (match === null) return [pathFor(constant)].flatMap((path) => (path === undefined ? [] : [`{${path}}`]));
  const [text, route, other = ''] = match;
  const paths =
    route === undefined ? [pathFor(other) ?? `params.${other}`] : [`params.${route}`, pathFor(route)];
  const before = constant.slice(0, match.index);
  const after = constant.slice(match.index + text.length);
  return [...new Set(paths)].flatMap((path) => (path === undefined ? [] : [`${before}{${path}}${after}`]));
}
