/** The parts of a request that a placeholder may read. */
export const ROOTS = ['ip', 'user', 'body', 'params', 'query', 'headers'] as const;
export type Root = (typeof ROOTS)[number];

/** A path with a field for each part of a request, for a part that was written alone. */
const EXAMPLES: Readonly<Record<string, string>> = {
  ip: 'ip',
  user: 'user.id',
  body: 'body.phone',
  params: 'params.id',
  query: 'query.q',
  headers: 'headers.x-api-key',
};
/** Names that stand for a part of a request, in lower case and without `_`. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  userid: 'user.id',
  uid: 'user.id',
  ipaddress: 'ip',
  remoteaddress: 'ip',
  clientip: 'ip',
  id: 'params.id',
  phone: 'body.phone',
  email: 'body.email',
  username: 'body.username',
  apikey: 'headers.x-api-key',
};
const SINGULAR: Readonly<Record<string, string>> = { param: 'params', header: 'headers' };
/** Matches a name as other libraries mark it: `:id` of a route, `$id`, `%id%`, `<id>`, `[id]`. */
const MARKED = /(?<=^|\/):([a-z_]\w*)|[$%<[]([a-z_]\w*)[%>\]]?/i;

/** A path that exists and that a developer probably meant by this text: `req.user.id` → `user.id`. */
export function pathFor(text: string): string | undefined {
  const [root = '', ...fields] = text
    .trim()
    .replace(/^(?:req|request|ctx|context)\./i, '')
    .split('.');
  const name = root.toLowerCase();
  const known = SINGULAR[name] ?? name;
  if (fields.length > 0) {
    if (known === 'ip' || !ROOTS.includes(known as Root)) return undefined;
    return fields.includes('') ? EXAMPLES[known] : [known, ...fields].join('.');
  }
  return EXAMPLES[known] ?? OTHER_NAMES[name.replace(/[_-]/g, '')];
}

/** What to write instead of `{text}`, which is not a placeholder: `; write {user.id}`. Empty if it is not known. */
export function hintForPlaceholder(text: string): string {
  const path = pathFor(text);
  if (path !== undefined) return `; write {${path}}`;
  return /^[a-z_]\w*$/i.test(text) ? `; write {params.${text}}, {body.${text}} or {query.${text}}` : '';
}

/** The templates that were probably meant by a constant: `user/:id` → `user/{params.id}`. Empty if none is known. */
export function templatesFor(constant: string): readonly string[] {
  const [text, route, name = route] = MARKED.exec(constant) ?? [];
  if (text === undefined || name === undefined)
    return [pathFor(constant)].flatMap((path) => (path === undefined ? [] : [`{${path}}`]));
  const paths = route === undefined ? [pathFor(name) ?? `params.${name}`] : [`params.${name}`, pathFor(name)];
  const known = new Set(paths.filter((path) => path !== undefined));
  return [...known].map((path) => constant.replace(text, () => `{${path}}`));
}
