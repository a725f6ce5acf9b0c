import { compileKey } from '../../../../src/rules/key/compile-key.js';
import { templatesFor } from '../../../../src/rules/key/key-hints.js';

describe('templatesFor', () => {
  it.each([
    [':id', ['{params.id}']],
    [':user', ['{params.user}', '{user.id}']],
    [':userId', ['{params.userId}', '{user.id}']],
    ['user/:id', ['user/{params.id}']],
    ['a:id/:id', ['a:id/{params.id}']],
    ['/users/:id/photos', ['/users/{params.id}/photos']],
    ['$user', ['{user.id}']],
    ['by-$tenant', ['by-{params.tenant}']],
    ['%user%', ['{user.id}']],
    ['%phone%', ['{body.phone}']],
    ['<id>', ['{params.id}']],
    ['[id]', ['{params.id}']],
    ['user:[tenant_id]', ['user:{params.tenant_id}']],
    ['userId', ['{user.id}']],
    ['user_id', ['{user.id}']],
    ['IP', ['{ip}']],
    ['ip-address', ['{ip}']],
    ['req.ip', ['{ip}']],
    ['request.user.id', ['{user.id}']],
    ['req.body.phone', ['{body.phone}']],
    ['req.headers.x-api-key', ['{headers.x-api-key}']],
    ['phone', ['{body.phone}']],
    ['id', ['{params.id}']],
  ])('finds for %s the template %j, which is a key', (constant, templates) => {
    expect(templatesFor(constant)).toEqual(templates);
    for (const template of templates) expect(compileKey(template).paths).toHaveLength(1);
  });

  it.each([
    'login',
    'sms:code',
    'a:b',
    '12:30',
    '$1',
    '100%',
    'a < b',
    '[]',
    'req.session.id',
    'user:',
    '*',
    'constructor',
    '__proto__',
  ])('finds none for %s', (constant) => {
    expect(templatesFor(constant)).toEqual([]);
  });
});
