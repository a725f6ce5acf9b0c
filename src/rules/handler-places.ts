import 'reflect-metadata';

// Nest keeps what it knows of a handler on the handler's function. Whatever makes another handler out of that function
// (a wrapper that inherits from it or copies its metadata, a method copied to another class) takes routes and guards
// along. Declarations of limits are on the class, under the method's name. So the function carries, as metadata too,
// where they are, and they are found wherever the function went.

/** A text, so that marks of one copy of this package are seen by the module of another. */
const DECLARED_AT = 'nestjs-freq-limit:declared-at';
/** Where compilers, and whatever makes a handler of another one, put the types of a method's parameters. */
const PARAMETER_TYPES = 'design:paramtypes';

/** Where decorators of a handler were written down: a prototype, and the name of a method. */
export interface HandlerPlace {
  readonly target: object;
  readonly handler: string;
}

/** Leaves on a method's function where its declarations are. */
export function markMethod(method: object, target: object, handler: string): void {
  // put on through a subclass, they are for the subclass alone, and the function is its parent's
  if (handler in target && !Object.hasOwn(target, handler)) return;
  const known = ownMarks(method);
  if (known.some((place) => isSame(place, { target, handler }))) return;
  Reflect.defineMetadata(DECLARED_AT, [...known, { target, handler }], method);
}

/** Whether decorators other than ours have said something of a function. */
export function hasOtherMetadata(method: object): boolean {
  return Reflect.getMetadataKeys(method).some((key) => key !== DECLARED_AT);
}

/**
 * The places whose declarations a handler has, the farthest first: those that its function brings along, those of the
 * parent that has the method, and those put on through subclasses.
 * @param declaredNames the decorated methods of a prototype
 * @param isHandlerClass whether handlers of a prototype are planned by themselves
 */
export function placesOf(
  prototype: object,
  handler: string,
  declaredNames: (target: object) => readonly string[],
  isHandlerClass: (target: object) => boolean,
): HandlerPlace[] {
  const method = methodAt(prototype, handler);
  const local = namesOfMethod(prototype, handler).flatMap((name) => ownPlacesOf(prototype, name));
  if (method === undefined) return local;
  const isDecoratedHere = ownMarks(method).some((mark) => local.some((place) => isSame(mark, place)));
  const brought = marksOf(method).filter((mark) => {
    // of one function that several classes have decorated, each class has what was said through it
    const isOfAnother = isDecoratedHere && methodAt(mark.target, mark.handler) === method;
    return !isOfAnother || !isHandlerClass(mark.target);
  });
  const originals = originalsOf(prototype, handler, declaredNames).flatMap((name) =>
    placesOf(prototype, name, declaredNames, isHandlerClass),
  );
  const farther = [...originals, ...brought].filter((one) => !local.some((place) => isSame(one, place)));
  return [...farther, ...local].filter((one, i, all) => all.findIndex((other) => isSame(one, other)) === i);
}

/** The methods of a class that a function was made of, by what it inherits or has copied of them. */
export function markedNames(method: object, prototype: object): string[] {
  const isOfClass = ({ target }: HandlerPlace): boolean =>
    target === prototype || Object.prototype.isPrototypeOf.call(target, prototype);
  return marksOf(method)
    .filter(isOfClass)
    .map(({ handler }) => handler);
}

/** A method's current function; accessors are not run to find out. */
export function methodAt(target: object, name: string): object | undefined {
  const owner = ownerOf(target, name);
  const value: unknown = Object.getOwnPropertyDescriptor(owner, name)?.value;
  return typeof value === 'function' ? value : undefined;
}

/** Where a method's own decorators are: at its owner, and at subclasses down from it. */
export function ownPlacesOf(prototype: object, handler: string): HandlerPlace[] {
  const places: HandlerPlace[] = [];
  for (let at: unknown = prototype; isObject(at); at = Object.getPrototypeOf(at)) {
    places.unshift({ target: at, handler });
    if (Object.hasOwn(at, handler)) return places;
  }
  return [{ target: prototype, handler }];
}

/** The prototype that has a method: a class's own, or that of a parent. */
export function ownerOf(prototype: object, handler: string): object {
  return ownPlacesOf(prototype, handler)[0]?.target ?? prototype;
}

/** The names under which a class has one function: which of them is called cannot be told apart. */
export function namesOfMethod(prototype: object, handler: string): string[] {
  const methods = methodsOf(prototype);
  const method = methods.get(handler);
  if (method === undefined) return [handler];
  return [...methods.keys()].filter((name) => methods.get(name) === method);
}

/** The names of a prototype's methods, its parents' included. */
export function methodNames(prototype: unknown): string[] {
  return [...methodsOf(prototype).keys()];
}

/** A class is planned in one go, and its methods are looked over again and again; later they may be others. */
const recent = new Map<unknown, ReadonlyMap<string, object>>();

/** Methods by their names. */
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

/** Accessors are not run to find out. */
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

/**
 * The methods that a handler was made of without metadata on its function. Libraries that do this copy the list of the
 * parameters' types, because pipes need it; compilers give each method a list of its own.
 */
function originalsOf(
  prototype: object,
  handler: string,
  declaredNames: (target: object) => readonly string[],
): string[] {
  const owner = ownerOf(prototype, handler);
  const types: unknown = Reflect.getOwnMetadata(PARAMETER_TYPES, owner, handler);
  if (types === undefined) return [];
  const names = Object.getOwnPropertyNames(owner);
  return declaredNames(owner).filter(
    (name) =>
      names.includes(name) &&
      names.indexOf(name) < names.indexOf(handler) &&
      Reflect.getOwnMetadata(PARAMETER_TYPES, owner, name) === types,
  );
}

/** What a function and those that it inherits from carry. */
function marksOf(method: object): HandlerPlace[] {
  const marks: HandlerPlace[] = [];
  for (
    let at: unknown = method;
    typeof at === 'function' && at !== Function.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    marks.unshift(...ownMarks(at));
  }
  return marks;
}

function ownMarks(method: object): readonly HandlerPlace[] {
  return (Reflect.getOwnMetadata(DECLARED_AT, method) ?? []) as readonly HandlerPlace[];
}

function isSame(a: HandlerPlace, b: HandlerPlace): boolean {
  return a.target === b.target && a.handler === b.handler;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
