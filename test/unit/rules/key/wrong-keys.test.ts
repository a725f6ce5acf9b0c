import { compileKey } from '../../../../src/rules/key/compile-key.js';

describe('compileKey', () => {
  it.each(['ip', 'user', 'body', 'params', 'query', 'headers', 'body.phone', 'user.id', 'headers.x-api-key'])(
    'refuses the bare %s, with the hint to write it in braces',
    (text) => {
      expect(() => compileKey(text)).toThrow(
        `"${text}" is a constant text, one counter for all callers; for the value write "{${text}}"`,
      );
    },
  );

  it.each(['ip-addresses', 'users', 'my.ip', 'IP', 'phone:{ip}', 'user.{user.id}', 'query.{query.q}:x'])(
    'accepts %s, which is no bare root',
    (text) => {
      expect(() => compileKey(text)).not.toThrow();
    },
  );

  it.each<[string, unknown, string]>([
    ['an empty text', '', 'an empty text is no key'],
    ['a blank text', ' \t\n', 'an empty text is no key'],
    ['an open brace', 'a{b', 'a brace without its other half'],
    ['a closing brace', 'a}b', 'a brace without its other half'],
    ['an unclosed placeholder', '{ip', 'a brace without its other half'],
    ['a brace too many', '{ip}}', 'a brace without its other half'],
    ['nested braces', '{{ip}}', 'a brace without its other half'],
    [
      'an empty placeholder',
      '{}',
      '{} is no placeholder; they begin with ip, user, body, params, query, headers',
    ],
    ['an unknown root', '{session.id}', '{session.id} is no placeholder'],
    ['a root in capitals', '{IP}', '{IP} is no placeholder'],
    ['a blank in a placeholder', '{ ip }', '{ ip } is no placeholder'],
    ['a root of every object', '{constructor.name}', 'is no placeholder'],
    ['a field of the address', '{ip.v4}', 'the address has no fields; write {ip}'],
    ['a root alone', '{user}', 'names no value; write a field of it, such as {user.id}'],
    ['a dot at the end', '{user.}', 'names no value'],
    ['a dot too many', '{body..phone}', 'names no value'],
    ['__proto__', '{body.__proto__}', '__proto__ is no field of a request'],
    ['__proto__ within', '{body.a.__proto__.b}', '__proto__ is no field of a request'],
    ['__proto__ of the headers', '{headers.__proto__}', '__proto__ is no field of a request'],
    ['__PROTO__ of the headers', '{headers.__PROTO__}', '__proto__ is no field of a request'],
    ['an empty list', [], 'is no key'],
    ['a list of lists', [['{ip}']], 'a key is a flat list'],
    ['a list with an empty text', ['{ip}', ''], 'an empty text is no key'],
    ['a list with a bare root', ['{ip}', 'user.id'], 'for the value write "{user.id}"'],
    ['a list with a number', [5], '5 is no key'],
    ['a number', 5, '5 is no key'],
    ['null', null, 'null is no key'],
    ['undefined', undefined, 'undefined is no key'],
    ['an object', { ip: true }, '[object] is no key'],
    ['a symbol', Symbol('ip'), 'Symbol(ip) is no key'],
  ])('refuses %s', (_, spec, message) => {
    expect(() => compileKey(spec)).toThrow(TypeError);
    expect(() => compileKey(spec)).toThrow(message);
  });

  it('says the right form', () => {
    expect(() => compileKey(5)).toThrow(
      "a template such as '{ip}', '{user.id}' or 'phone:{body.phone}', a function of the context, or a list of these",
    );
  });
});
