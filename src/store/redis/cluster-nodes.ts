import { isWritable, type LinkedClient } from './returning-link.js';

/** How many errors are kept: those of servers that were replaced are never cleared. */
const MAX_ERRORS = 100;

/** A connection of a Cluster client. */
export interface ClusterNode extends Pick<LinkedClient, 'status' | 'stream'> {
  readonly options: { readonly host?: string | undefined; readonly port?: number | undefined };
  connect(): Promise<unknown>;
  on(event: 'ready' | 'end' | 'error', listener: (error: unknown) => void): unknown;
  off(event: 'ready' | 'end' | 'error', listener: (error: unknown) => void): unknown;
}

/** The parts of ioredis' `Cluster` that are used. */
export interface ClusterClient {
  readonly status: string;
  nodes?(): ClusterNode[];
  on?(event: '+node' | '-node', listener: (node: ClusterNode) => void): unknown;
  off?(event: '+node' | '-node', listener: (node: ClusterNode) => void): unknown;
  /** Looks up which server has which slot, and connects to those that are not connected. */
  refreshSlotsCache?(callback: () => void): void;
}

/**
 * The connections of a Cluster client, by server.
 *
 * ioredis drops a lost connection, and opens it again when another server reports this server. Until then each call to it
 * fails. So the slots are refreshed at once when a connection is lost, and calls can wait for that.
 */
export class ClusterNodes {
  private readonly nodes = new Map<string, ClusterNode>();
  /** Servers whose connection was lost, while the slots are being refreshed. */
  private readonly refreshing = new Set<string>();
  /** The last errors of connections, until they are ready. */
  private readonly errors = new Map<string, unknown>();
  /** Functions that remove the listeners of a connection; the client may live longer than this. */
  private readonly stopListening = new Map<ClusterNode, () => void>();
  private readonly onAdd = (node: ClusterNode): void => {
    this.add(node);
  };

  constructor(
    private readonly cluster: ClusterClient,
    private readonly onChange: () => void,
  ) {
    for (const node of cluster.nodes?.() ?? []) this.add(node);
    cluster.on?.('+node', this.onAdd);
  }

  /** Whether a call to this server is sent at once. For an unknown server the client uses another one. */
  isReady(server: string): boolean {
    if (this.refreshing.has(server)) return false;
    const node = this.nodes.get(server);
    // in the status `wait` the first call opens the connection
    return node === undefined || node.status === 'wait' || isWritable(node);
  }

  /** Whether the connection to this server is being opened. In a Cluster each is tried once. */
  isReturning(server: string): boolean {
    if (this.refreshing.has(server)) return true;
    const node = this.nodes.get(server);
    return node !== undefined && node.status !== 'wait' && node.status !== 'end';
  }

  /** Why there is no connection to this server; `undefined` if that is not known. */
  errorOf(server: string): unknown {
    return this.errors.get(server);
  }

  /** Removes the listeners. */
  detach(): void {
    this.cluster.off?.('+node', this.onAdd);
    for (const stop of this.stopListening.values()) stop();
    this.stopListening.clear();
    this.nodes.clear();
    this.refreshing.clear();
  }

  private add(node: ClusterNode): void {
    const server = serverOf(node);
    let wasReady = node.status === 'ready';
    this.nodes.set(server, node);
    const onReady = (): void => {
      wasReady = true;
      this.errors.delete(server);
      this.onChange();
    };
    const onError = (error: unknown): void => {
      this.noteError(server, error);
    };
    const onEnd = (): void => {
      this.stopListening.get(node)?.();
      this.stopListening.delete(node);
      if (this.nodes.get(server) !== node) return;
      this.nodes.delete(server);
      // not for a server that was never reached: it would be refreshed forever
      if (wasReady && this.cluster.status === 'ready') this.refresh(server);
      this.onChange();
    };
    node.on('ready', onReady);
    node.on('end', onEnd);
    node.on('error', onError);
    this.stopListening.set(node, () => {
      node.off('ready', onReady);
      node.off('end', onEnd);
      node.off('error', onError);
    });
  }

  private noteError(server: string, error: unknown): void {
    if (this.errors.size >= MAX_ERRORS) this.errors.clear();
    this.errors.set(server, error);
  }

  private refresh(server: string): void {
    const { cluster } = this;
    if (cluster.refreshSlotsCache === undefined) return;
    this.refreshing.add(server);
    cluster.refreshSlotsCache(() => {
      this.refreshing.delete(server);
      this.onChange();
    });
  }
}

/** The name of a node's server, as in the client's `slots`. */
export function serverOf({ options }: Pick<ClusterNode, 'options'>): string {
  return `${options.host ?? ''}:${options.port ?? ''}`;
}
