import { FreqLimitError } from '../../core/errors.js';
import { shortenStack } from '../../core/stack-frames.js';
import type { Deadline } from './deadline.js';
import { connectionProblem, errorKindOf, toFailure } from './errors.js';
import { checkLua } from './lua.generated.js';
import { isSet } from './option-values.js';
import { probeKey } from './probes.js';
import type { RedisClient } from './redis-option.js';
import { Script } from './script.js';
import type { Servers } from './servers.js';

const CHECK = new Script(checkLua);

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
   * Runs all commands that the scripts need, on each server.
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
    const keys = this.keysOn(server);
    try {
      await deadline.wait(CHECK.run(this.client, keys, []));
      // needed for a server that does not have a script yet
      await deadline.wait(CHECK.runWhole(this.client, keys, []));
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** One key on each server of a Cluster; elsewhere two keys, which a server of a Cluster would not accept in one call. */
  private keysOn(server: string): string[] {
    const { servers, namespace } = this;
    if (!servers.isCluster) return [probeKey(namespace, 0), probeKey(namespace, 1)];
    return [servers.keyOn(server, (tag) => probeKey(namespace, tag)) ?? probeKey(namespace, 0)];
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
