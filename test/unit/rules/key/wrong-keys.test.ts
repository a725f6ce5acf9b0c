import { compileKey } from '../../../../src/rules/key/compile-key.js';

describe('compileKey', () => {
  it.each([
    ['ip', 'ip'],
    ['user', 'user.id'],
    ['body', 'body.phone'],
    ['params', 'params.id'],
    ['query', 'query.q'],
    ['headers', 'headers.x-api-key'],
    ['body.phone', 'body.phone'],
    ['user.id', 'user.id'],
    ['headers.x-api-key', 'headers.x-api-key'],
  ])('rejects %s without braces, and says to write {%s}', (text, path) => {
    expect(() => compileKey(text)).toThrow(
      new TypeError(
        `"${text}" is a constant, so all clients would share one counter; for the value write '{${path}}'`,
      ),
    );
    expect(() => compileKey(`{${path}}`)).not.toThrow();
  });

  it.each([
    ['{id}', '; write {params.id}'],
    ['${id}', '; write {params.id}'],
    ['{userId}', '; write {user.id}'],
    ['{req.user.id}', '; write {user.id}'],
    ['{IP}', '; write {ip}'],
    ['{ ip }', '; write {ip}'],
    ['{Body.phone}', '; write {body.phone}'],
    ['{header.x-api-key}', '; write {headers.x-api-key}'],
    ['{tenant}', '; write {params.tenant}, {body.tenant} or {query.tenant}'],
    ['{constructor}', '; write {params.constructor}, {body.constructor} or {query.constructor}'],
    ['{session.id}', ''],
    ['{}', ''],
  ])('rejects %s, and says what was probably meant', (text, hint) => {
    expect(() => compileKey(text)).toThrow(
      new TypeError(
        `${text.replace('$', '')} is not a placeholder; placeholders begin with ip, user, body, params, query, headers${hint}`,
      ),
    );
  });

  it.each(['ip-addresses', 'users', 'my.ip', 'IP', 'phone:{ip}', 'user.{user.id}', 'query.{query.q}:x'])(
    'accepts %s, which only looks like a path',
    (text) => {
      expect(() => compileKey(text)).not.toThrow();
    },
  );

  it.each<[string, unknown, string]>([
    ['an empty string', '', 'an empty string is not a key'],
    ['a blank string', ' \t\n', 'an empty string is not a key'],
    ['an open brace', 'a{b', 'an unmatched brace'],
    ['a closing brace', 'a}b', 'an unmatched brace'],
    ['an unclosed placeholder', '{ip', 'an unmatched brace'],
    ['a brace too many', '{ip}}', 'an unmatched brace'],
    ['nested braces', '{{ip}}', 'an unmatched brace'],
    [
      'an empty placeholder',
      '{}',
      '{} is not a placeholder; placeholders begin with ip, user, body, params, query, headers',
    ],
    ['an unknown root', '{session.id}', '{session.id} is not a placeholder'],
    ['a root in capitals', '{IP}', '{IP} is not a placeholder'],
    ['a blank in a placeholder', '{ ip }', '{ ip } is not a placeholder'],
    ['a root of every object', '{constructor.name}', 'is not a placeholder'],
    ['a field of the address', '{ip.v4}', 'an address has no fields; write {ip}'],
    ['a root alone', '{user}', '{user} does not name a value; add a field, such as {user.id}'],
    ['a dot at the end', '{user.}', 'does not name a value'],
    ['a dot too many', '{body..phone}', 'does not name a value'],
    ['__proto__', '{body.__proto__}', 'a path must not contain __proto__'],
    ['__proto__ within', '{body.a.__proto__.b}', 'a path must not contain __proto__'],
    ['__proto__ of the headers', '{headers.__proto__}', 'a path must not contain __proto__'],
    ['__PROTO__ of the headers', '{headers.__PROTO__}', 'a path must not contain __proto__'],
    ['an empty list', [], 'is not a key'],
    ['a list of lists', [['{ip}']], 'a list must not contain another list'],
    ['a list with an empty string', ['{ip}', ''], 'an empty string is not a key'],
    ['a list with a bare root', ['{ip}', 'user.id'], "for the value write '{user.id}'"],
    ['a list with a number', [5], '5 is not a key'],
    ['a number', 5, '5 is not a key'],
    ['null', null, 'null is not a key'],
    ['undefined', undefined, 'undefined is not a key'],
    ['an object', { ip: true }, '[object] is not a key'],
    ['a symbol', Symbol('ip'), 'Symbol(ip) is not a key'],
  ])('rejects %s', (_, spec, message) => {
    expect(() => compileKey(spec)).toThrow(TypeError);
    expect(() => compileKey(spec)).toThrow(message);
  });

  it('says how to write a key', () => {
    expect(() => compileKey(5)).toThrow(
      "a template such as '{ip}', '{user.id}' or 'phone:{body.phone}', a function of the context, or a list of these",
    );
  });
});
