import 'reflect-metadata';
import type { ClassRef } from './metadata.js';

/** What Nest keeps on a controller of its route. */
const ROUTE_METADATA = ['path', 'host', '__version__'];

/**
 * Tells each class from every other one, by facts that are the same in every process of the application: its name, its
 * module and its route. Classes that share all of these are told apart by the order in which Nest knows them.
 */
export class ClassIdentities {
  private readonly seen = new Map<string, number>();

  identify(classRef: ClassRef, moduleName: string): string {
    const identity = JSON.stringify([
      classRef.name,
      moduleName,
      ...ROUTE_METADATA.map((key) => routeText(key, classRef)),
    ]);
    const before = this.seen.get(identity) ?? 0;
    this.seen.set(identity, before + 1);
    return before === 0 ? identity : `${identity}#${before + 1}`;
  }
}

/** A route has one path, host and version or several, and a version may be a symbol. */
function routeText(key: string, classRef: ClassRef): string[] {
  return [Reflect.getMetadata(key, classRef) as unknown].flat().map(String);
}
