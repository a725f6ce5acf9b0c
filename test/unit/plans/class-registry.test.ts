import { FreqLimit } from '../../../src/decorators/freq-limit.decorator.js';
import { knownClasses } from '../../../src/plans/discover-classes.js';
import type { ClassRef } from '../../../src/rules/class-ref.js';
import { fakeDiscovery, ofClass, registryOf } from './fake-discovery.js';

describe('the registry of classes', () => {
  class Listing {
    @FreqLimit('1m', 5)
    list() {}
  }
  const providers = (classRef: new () => object) =>
    knownClasses(fakeDiscovery({ providers: [ofClass(classRef)] }));
  const copyTo = (classRef: ClassRef): void => {
    for (const name of ['constructor', 'list']) {
      const descriptor = Object.getOwnPropertyDescriptor(Listing.prototype, name)!;
      Object.defineProperty(classRef.prototype, name, descriptor);
    }
  };

  it('finds a class by the constructor of its instances too', () => {
    class Cats {}
    copyTo(Cats);
    const registry = registryOf(Cats);
    expect(registry.find(Listing)).toBe(registry.find(Cats));
  });

  it('prefers the class itself, in whatever order they are found', () => {
    class Cats {}
    copyTo(Cats);
    const registry = registryOf(Cats, Listing);
    expect(registry.find(Listing)!.classRef).toBe(Listing);
    registry.add(providers(Listing));
    expect(registry.all.map(({ classRef }) => classRef)).toEqual([Cats, Listing]);
  });

  it('gives an alias up when the class itself is found', () => {
    class Cats {}
    copyTo(Cats);
    const registry = registryOf(Cats);
    registry.add(providers(Listing));
    expect(registry.find(Listing)!.classRef).toBe(Listing);
  });

  it('keeps the identity of a class that is found again, and adds its roles', () => {
    const registry = registryOf(Listing);
    const { identity } = registry.find(Listing)!;
    registry.add(providers(Listing));
    const plans = registry.find(Listing)!;
    expect(plans.identity).toBe(identity);
    expect([...plans.appClass!.roles]).toEqual(['controller', 'provider']);
  });

  it('adds a class that comes later, which is not one of the application', () => {
    const registry = registryOf();
    expect(registry.find(Listing)).toBeUndefined();
    expect(registry.findOrAdd(Listing)).toBe(registry.find(Listing));
    expect(registry.all).toEqual([]);
    expect(registry.isHandlerClass(Listing.prototype)).toBe(false);
  });
});
