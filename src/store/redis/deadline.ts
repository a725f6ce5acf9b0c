// taken once, so that a test's fake timers do not keep visits waiting
const { setTimeout, clearTimeout, setImmediate } = globalThis;

/**
 * An answer, or a rejection when it does not come in time.
 *
 * A process that was busy itself finds the timer due before it has read what is there: one more look at the sockets is
 * taken, so that its own slowness is not the server's. Two turns away, since what else waits for the next one may be the
 * very thing that keeps it busy.
 */
export function withDeadline<T>(answer: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () =>
        setImmediate(() =>
          setImmediate(() => {
            reject(new Error('no answer in time'));
          }),
        ),
      ms,
    );
    answer.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- it goes on as it is
        reject(error);
      },
    );
  });
}
