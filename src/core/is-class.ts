/** Whether a value is a class as it is written, and not another function. */
export function isClass(value: unknown): value is abstract new (...args: never[]) => object {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
}
