import { EventEmitter } from 'node:events';
import { type ClusterClient, ClusterNodes } from '../../../../src/store/redis/cluster-nodes.js';

class Node extends EventEmitter {
  status = 'ready';
  readonly stream = { writable: true };

  constructor(readonly options: { host: string; port: number }) {
    super();
  }

  async connect(): Promise<void> {
    // it is connected
  }
}

function make() {
  const nodes = [1, 2].map((port) => new Node({ host: 'a', port }));
  const cluster = new EventEmitter() as EventEmitter & { status: string; refresh: () => void };
  const client = Object.assign(cluster, {
    status: 'ready',
    nodes: () => nodes,
    refreshSlotsCache: (done: () => void) => void (cluster.refresh = done),
  }) as unknown as ClusterClient;
  let changes = 0;
  const followed = new ClusterNodes(client, () => {
    changes++;
  });
  return { nodes, cluster, followed, changes: () => changes };
}

const listeners = (one: EventEmitter): number =>
  one.eventNames().reduce((sum, name) => sum + one.listenerCount(name), 0);

describe('the connections of a Cluster client', () => {
  it('have no listener after detach', () => {
    const { nodes, cluster, followed } = make();
    const added = new Node({ host: 'a', port: 3 });
    cluster.emit('+node', added);
    followed.detach();
    expect([cluster, ...nodes, added].map(listeners)).toEqual([0, 0, 0, 0]);
  });

  it('have no listener after they have ended', () => {
    const { nodes, followed } = make();
    nodes[0]!.status = 'end';
    nodes[0]!.emit('end');
    expect(listeners(nodes[0]!)).toBe(0);
    expect(followed.isReady('a:2')).toBe(true);
  });
});

describe('a connection that was lost', () => {
  it('is returning while the Cluster refreshes its slots', () => {
    const { nodes, cluster, followed, changes } = make();
    nodes[0]!.status = 'end';
    nodes[0]!.emit('end');
    expect([followed.isReady('a:1'), followed.isReturning('a:1')]).toEqual([false, true]);
    expect(changes()).toBe(1);
    cluster.refresh();
    expect(followed.isReady('a:1')).toBe(true);
    expect(changes()).toBe(2);
  });
});
