import { Controller, Get, mixin } from '@nestjs/common';
import { ClassIdentities, type ClassPlace, isMadeAtRunTime } from '../../../src/plans/class-identity.js';
import type { ClassRef } from '../../../src/rules/class-ref.js';

const PLACE: ClassPlace = { moduleName: 'AppModule', tokens: [] };

const textOf = (classRef: ClassRef, place = PLACE): string =>
  new ClassIdentities().identify(classRef, place).text;

function made(path: string): ClassRef {
  class Crud {
    list() {}
  }
  Get(path)(Crud.prototype, 'list', Object.getOwnPropertyDescriptor(Crud.prototype, 'list')!);
  return mixin(class extends Crud {});
}

describe('the identity of a class', () => {
  it('is its name, its parents, its module and its route', () => {
    class Base {}
    const cats = (path: string, parent = Base): ClassRef => {
      @Controller(path)
      class Cats extends parent {}
      return Cats;
    };
    expect(textOf(cats('a'))).toBe(textOf(cats('a')));
    expect(textOf(cats('a'))).not.toBe(textOf(cats('b')));
    expect(textOf(cats('a'))).not.toBe(textOf(cats('a', class Other {})));
    expect(textOf(cats('a'))).not.toBe(textOf(cats('a'), { ...PLACE, moduleName: 'Other' }));
  });

  it('does not contain a generated name, and then distinguishes classes by handlers and tokens', () => {
    expect(textOf(made('a'))).toBe(textOf(made('a')));
    expect(textOf(made('a'))).not.toBe(textOf(made('b')));
    expect(textOf(made('a'))).not.toBe(textOf(made('a'), { ...PLACE, tokens: ['cats'] }));
    expect(new ClassIdentities().identify(made('a'), PLACE).label).toBe('Crud');
  });

  it('depends on the order of classes that are otherwise equal', () => {
    const identities = new ClassIdentities();
    const [one, other] = [made('a'), made('a')].map((classRef) => identities.identify(classRef, PLACE));
    expect(one!.facts).toBe(other!.facts);
    expect(other!.text).toBe(`${one!.text}#2`);
  });

  it('is possible for handlers with any metadata', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    const odd = (value: unknown): ClassRef => {
      const classRef = made('a');
      Reflect.defineMetadata('microservices:pattern', value, (classRef.prototype as { list: object }).list);
      return classRef;
    };
    for (const value of [cyclic, [/a/], Symbol('a'), () => 1, 1n, undefined, null]) {
      expect(textOf(odd(value))).toBe(textOf(odd(value)));
    }
    expect(textOf(odd([/a/]))).not.toBe(textOf(odd([/b/])));
  });
});

it.each([
  ['3f8a1c0b9d7e6f5a4b3c2', true],
  ['Crud-550e8400-e29b-41d4-a716-446655440000', true],
  ['Crud_0123456789abcdef', true],
  ['C1764550800000k3j9x', true],
  ['CatsController', false],
  ['Facade2Deadbeef', false],
  ['V20240101', false],
  ['', false],
])('the name %j is generated: %s', (name, expected) => {
  expect(isMadeAtRunTime(name)).toBe(expected);
});
