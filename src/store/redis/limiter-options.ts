/** What the connection of a limiter needs. Each option prevents a way to hang or to count twice. */
export function limiterOptions(): object {
  return {
    // an unanswered EVALSHA may have counted: never resend it after a reconnect
    autoResendUnfulfilledCommands: false,
    // and reject it when the connection closes, instead of keeping it pending
    maxRetriesPerRequest: 0,
    // a request is decided now or not at all: none waits in memory for a server that is down
    enableOfflineQueue: false,
    // for connections to sentinels; SilenceWatch watches the connection itself and its commands
    connectTimeout: 1_000,
    // if a sentinel hangs, query the next one
    sentinelCommandTimeout: 1_000,
    keepAlive: 10_000,
    // a primary that is replaced while it is alive answers for some more seconds, and what it counts is lost
    failoverDetector: true,
    // the process waits for a timer that ioredis keeps after it has dropped a lost connection
    disconnectTimeout: 50,
    // reconnect soon after the server is back, but not all processes at the same moment
    retryStrategy: backOff,
    // a primary that became a replica, or is still loading: look for the primary again, but do not resend
    reconnectOnError: (error: Error) => (/READONLY|LOADING|MASTERDOWN/.test(error.message) ? 1 : false),
  };
}

/** The same for a Cluster, where several servers are one level below. */
export function clusterOptions(): object {
  return {
    // the Cluster resends what a lost connection has not answered; that would count twice
    retryDelayOnFailover: 0,
    // it queries any node for the state of the cluster, and takes a node that is still connecting for a cluster that is down
    enableReadyCheck: false,
    enableOfflineQueue: false,
    // these errors mean that nothing was run, so resending is safe; but the request waits meanwhile
    maxRedirections: 4,
    retryDelayOnTryAgain: 20,
    retryDelayOnClusterDown: 100,
    slotsRefreshTimeout: 1_000,
    // after an error the owners of slots are refreshed anyway, but not more often than this
    slotsRefreshInterval: 5_000,
    clusterRetryStrategy: backOff,
  };
}

/** Requests wait for the first reconnect, so it comes at once. Later ones differ in each process, to spread the load. */
function backOff(times: number): number {
  return times === 1 ? Math.random() * 10 : Math.min(50 * times, 1_000) + Math.random() * 50;
}
