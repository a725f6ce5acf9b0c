/** Caches the last result of a function: several rules of one request often use the same value. */
export function withLastResult(compute: (text: string) => string): (text: string) => string {
  let lastText: string | undefined;
  let lastResult = '';
  return (text) => {
    if (text !== lastText) {
      lastResult = compute(text);
      lastText = text;
    }
    return lastResult;
  };
}
