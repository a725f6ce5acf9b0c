import { Log } from '../../../../src/core/log.js';
import { NotReadyError, ReplyError } from '../../../../src/store/redis/errors.js';
import { ServerHealth } from '../../../../src/store/redis/server-health.js';

const DOWN =
  'error: FREQ_LIMIT_STORE_UNAVAILABLE: Redis is unavailable; applying onStoreError until it recovers: ';
const DOWN_REFUSED =
  'error: FREQ_LIMIT_STORE_REFUSED: Redis is unavailable; applying onStoreError until it recovers: ';
const REFUSED = 'error: FREQ_LIMIT_STORE_REFUSED: ';
const LOST = 'Redis returned an error: ERR a is lost';

function make(isCluster = true) {
  const lines: string[] = [];
  const log = new Log({
    log: (line) => void lines.push(`info: ${line}`),
    warn: (line) => void lines.push(`warn: ${line}`),
    error: (line) => void lines.push(`error: ${line}`),
  });
  const health = new ServerHealth({ isCluster, has: () => true }, log);
  const find = (server: string): void => {
    health.noteSuccess(health.breakerOf(server), true);
  };
  const lose = (server: string): void => {
    health.noteFailure(health.breakerOf(server), new ReplyError(`ERR ${server} is lost`));
  };
  return { health, lines, find, lose };
}

describe('a refused connection', () => {
  it('is logged once when it is refused, even during another outage', () => {
    const { health, lines } = make(false);
    health.onLost('Redis cannot be reached: ECONNREFUSED');
    for (let i = 0; i < 3; i++) health.onRefused('Redis refused the connection: WRONGPASS');
    health.onLost('Redis cannot be reached: ECONNREFUSED');
    expect(lines).toEqual([
      `${DOWN}Redis cannot be reached: ECONNREFUSED`,
      `${REFUSED}Redis refused the connection: WRONGPASS`,
    ]);
    expect(health.storeHealth().reason).toBe('Redis refused the connection: WRONGPASS');
  });

  it('is logged with the code of refusals if an outage begins with one', () => {
    const { health, lines } = make(false);
    health.onRefused('Redis refused the connection: WRONGPASS');
    health.onRefused('Redis refused the connection: WRONGPASS');
    expect(lines).toEqual([`${DOWN_REFUSED}Redis refused the connection: WRONGPASS`]);
    health.onRefused('Redis refused the connection: NOPERM');
    expect(lines.slice(1)).toEqual([`${REFUSED}Redis refused the connection: NOPERM`]);
    health.onReady();
    expect(lines.slice(2)).toEqual([
      expect.stringMatching(/RECOVERED: .*: Redis refused the connection: WRONGPASS$/),
    ]);
  });
});

describe('a refused call', () => {
  const refuse = (health: ServerHealth, server: string, message = 'NOPERM'): void => {
    health.noteFailure(health.breakerOf(server), new ReplyError(message));
  };

  it('is an outage with the code of refusals, and one line for all servers', () => {
    const { health, lines } = make();
    for (const server of ['a', 'b', 'c']) refuse(health, server);
    expect(health.openServers()).toEqual(['a', 'b', 'c']);
    expect(lines).toEqual([expect.stringContaining(`${DOWN_REFUSED}Redis returned an error: NOPERM`)]);
  });

  it('is logged during another outage, and becomes its reason', () => {
    const { health, lines, lose } = make();
    lose('a');
    refuse(health, 'a');
    expect(lines).toEqual([
      DOWN + LOST,
      expect.stringContaining(`${REFUSED}Redis returned an error: NOPERM`),
    ]);
    expect(health.storeHealth().reason).toContain('NOPERM');
  });

  it('is logged at most ten times in one outage', () => {
    const { health, lines } = make();
    for (let i = 0; i < 1_000; i++) refuse(health, 'a', `NOPERM ${i}`);
    expect(lines).toHaveLength(10);
  });

  it('adds no line to outages that are too many to be logged', () => {
    const { health, lines, find, lose } = make();
    for (let i = 0; i < 100; i++) {
      lose('a');
      refuse(health, 'a');
      find('a');
    }
    expect(lines).toHaveLength(30);
  });

  it('counts for nothing if it was not sent', () => {
    const { health, lines } = make();
    health.noteFailure(health.breakerOf('a'), new NotReadyError('reconnecting: WRONGPASS'));
    expect(lines).toEqual([expect.stringContaining(`${DOWN}Redis did not answer: reconnecting: WRONGPASS`)]);
  });
});
