import { Resolver } from '@nestjs/graphql';
import { knownClasses, classesOfInstances } from '../../../src/plans/discover-classes.js';
import { fakeDiscovery, ofClass, ofFactory } from './fake-discovery.js';

class Cats {}
class OneModule {}
class OtherModule {}

@Resolver()
class Words {}

describe('declared classes', () => {
  it('are the controllers and the providers whose class Nest knows', () => {
    const discovery = fakeDiscovery({
      controllers: [ofClass(Cats)],
      providers: [ofClass(Words), ofFactory(new Words()), { metatype: undefined }],
    });
    expect(knownClasses(discovery).map(({ classRef, roles }) => [classRef, [...roles]])).toEqual([
      [Cats, ['controller']],
      [Words, ['provider']],
    ]);
  });

  it('are one for each class, with all of its modules, tokens and roles', () => {
    const discovery = fakeDiscovery({
      controllers: [ofClass(Cats, { host: { metatype: OtherModule } })],
      providers: [
        ofClass(Cats, { host: { metatype: OneModule }, token: 'cats' }),
        ofClass(Cats, { host: { metatype: OneModule }, token: 'cats' }),
      ],
    });
    expect(knownClasses(discovery)).toEqual([
      expect.objectContaining({
        classRef: Cats,
        moduleName: 'OneModule,OtherModule',
        tokens: ['cats'],
        roles: new Set(['controller', 'provider']),
      }),
    ]);
  });

  it('have an instance unless each request gets a new one', () => {
    const [one, perRequest] = knownClasses(
      fakeDiscovery({ providers: [ofClass(Cats), ofClass(Words, { isStatic: false })] }),
    );
    expect(one!.instance()).toBeInstanceOf(Cats);
    expect(perRequest!.instance()).toBeUndefined();
  });
});

describe('made classes', () => {
  const made = (...instances: unknown[]) =>
    classesOfInstances(fakeDiscovery({ providers: instances.map((instance) => ofFactory(instance)) }));

  it('are those of instances from factories that have metadata', () => {
    class WithoutMetadata {}
    expect(made(new Words(), new WithoutMetadata()).map(({ classRef }) => classRef)).toEqual([Words]);
  });

  it('are not those of classes that Nest knows, or of aliases', () => {
    const providers = [ofClass(Words), ofFactory(new Words(), { isAlias: true })];
    expect(classesOfInstances(fakeDiscovery({ providers }))).toEqual([]);
  });

  it('are not found in anything else that a factory makes', () => {
    const throws = (): never => {
      throw new Error('closed');
    };
    const closed = new Proxy({}, { getPrototypeOf: throws, get: throws });
    const withOddConstructor = Object.create({ constructor: 5 }) as object;
    expect(
      made(null, undefined, 'text', {}, Object.create(null), () => 1, closed, withOddConstructor),
    ).toEqual([]);
  });
});
