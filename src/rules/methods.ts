/** The current function of a method; accessors are not run. */
export function methodAt(target: object, name: string): object | undefined {
  const value: unknown = Object.getOwnPropertyDescriptor(ownerOf(target, name), name)?.value;
  return typeof value === 'function' ? value : undefined;
}

/** The prototype that has a property: the given one, or the nearest parent with it. */
export function ownerOf(prototype: object, name: string): object {
  for (let at: unknown = prototype; isObject(at); at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, name)) return at;
  }
  return prototype;
}

/** The names of a prototype's methods, including those of its parents. */
export function methodNames(prototype: unknown): string[] {
  return [...methodsOf(prototype).keys()];
}

/** All names under which a class has the function of a method. A guard cannot tell by which of them it was called. */
export function namesOfMethod(prototype: object, name: string): string[] {
  const methods = methodsOf(prototype);
  const method = methods.get(name);
  if (method === undefined) return [name];
  return [...methods.keys()].filter((other) => methods.get(other) === method);
}

/** Planning reads the methods of one class many times in one turn. In a later turn they may have changed. */
const recent = new Map<unknown, ReadonlyMap<string, object>>();

function methodsOf(prototype: unknown): ReadonlyMap<string, object> {
  const known = recent.get(prototype);
  if (known !== undefined) return known;
  const methods = readMethods(prototype);
  if (recent.size === 0) {
    queueMicrotask(() => {
      recent.clear();
    });
  }
  recent.set(prototype, methods);
  return methods;
}

/** Methods by name; accessors are not run. */
function readMethods(prototype: unknown): Map<string, object> {
  const methods = new Map<string, object>();
  for (let at = prototype; isObject(at) && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (name === 'constructor' || typeof value !== 'function' || methods.has(name)) continue;
      methods.set(name, value as object);
    }
  }
  return methods;
}

/** Whether a value can be a prototype. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
