import { FIXED_WINDOW } from '../../core/counter-kind.js';
import { FreqLimitError } from '../../core/errors.js';
import { shortenStack } from '../../core/stack-frames.js';
import { tryConsume } from './consume-calls.js';
import type { Deadline } from './deadline.js';
import { connectionProblem, errorKindOf, toFailure } from './errors.js';
import { checkLua } from './lua.generated.js';
import { isSet } from './option-values.js';
import { probeCheck, probeKey } from './probes.js';
import type { RedisClient } from './redis-option.js';
import { Script } from './script.js';
import type { Servers } from './servers.js';

const CHECK = new Script(checkLua);
/** One kind of counter for each script of requests. */
const KINDS = [FIXED_WINDOW, { type: 'sliding-window' }] as const;

/**
 * For `requireStore`: stops the start of an application whose store cannot count until its configuration is fixed. An outage
 * stops nothing.
 */
export class StartCheck {
  constructor(
    private readonly client: RedisClient,
    private readonly servers: Servers,
    private readonly namespace: string,
  ) {}

  /**
   * Checks why there is no connection.
   * @throws {FreqLimitError} if an operator must fix the reason
   */
  checkConnection(error: unknown): void {
    if (this.isMistake(error)) throw startError(connectionProblem(error));
  }

  /**
   * Runs all commands that the scripts need, and the scripts as requests do, on each server.
   * @param refusalOf why a server has refused its connection, if it has
   * @throws {FreqLimitError} if an operator must fix what keeps one of them from running
   */
  async checkCalls(deadline: Deadline, refusalOf: (server: string) => unknown): Promise<void> {
    const errors = await Promise.all(
      this.servers.all().map(async (server) => {
        const error = await this.errorOf(server, deadline);
        return error === undefined ? undefined : (refusalOf(server) ?? error);
      }),
    );
    const mistake = errors.find((error) => this.isMistake(error));
    if (mistake !== undefined) throw startError(toFailure(mistake).message);
  }

  private async errorOf(server: string, deadline: Deadline): Promise<unknown> {
    const { client } = this;
    const keys = this.keysOn(server);
    try {
      await deadline.wait(CHECK.run(client, keys, []));
      // needed for a server that does not have a script yet
      await deadline.wait(CHECK.runWhole(client, keys, []));
      for (const kind of KINDS)
        await deadline.wait(tryConsume(client, probeCheck(this.keyOn(server, kind), kind)));
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** One key on each server of a Cluster; elsewhere two keys, which a server of a Cluster would not accept in one call. */
  private keysOn(server: string): string[] {
    if (this.servers.isCluster) return [this.keyOn(server)];
    return [0, 1].map((tag) => probeKey(this.namespace, tag));
  }

  private keyOn(server: string, kind: (typeof KINDS)[number] = FIXED_WINDOW): string {
    const keyOf = (tag: number): string => probeKey(this.namespace, tag, kind);
    return this.servers.keyOn(server, keyOf) ?? keyOf(0);
  }

  private isMistake(error: unknown): boolean {
    const kind = errorKindOf(error);
    if (kind === 'misdirected' && this.mayFollowPrimary) return !String(error).includes('READONLY');
    return kind === 'refused' || kind === 'misdirected';
  }

  /** Sentinels and a Cluster name another primary soon, if the one that they have named became a replica. */
  private get mayFollowPrimary(): boolean {
    const { sentinels } = (this.client.options ?? {}) as { readonly sentinels?: unknown };
    return this.servers.isCluster || isSet(sentinels);
  }
}

/** It ends the process, so it is printed: without the error of the client, whose text it has, and without frames of libraries. */
function startError(problem: string): FreqLimitError {
  const error = new FreqLimitError(
    'FREQ_LIMIT_STORE_FAILED',
    `FreqLimitModule: redis: ${problem}. The application does not start, because requireStore is true.`,
  );
  shortenStack(error, startError);
  return error;
}
