import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { Readable } from 'node:stream';
import { firstValueFrom, lastValueFrom, of } from 'rxjs';
import { offerLeases } from '../../../src/leases/claims.js';
import { LEASE_INTERCEPTOR } from '../../../src/leases/lease-interceptor.js';

class Chat {
  ask(): void {}
}

function contextOf(type: string): ExecutionContextHost {
  const context = new ExecutionContextHost([{}, {}, {}, {}], Chat, Chat.prototype.ask);
  context.setType(type as 'rpc');
  return context;
}

describe('the interceptor of handlers with leases', () => {
  let steps: string[];
  const leases = { claim: () => steps.push('claim'), release: () => steps.push('release') };
  beforeEach(() => {
    steps = [];
  });

  it('claims leases when somebody waits for the result, and not before', async () => {
    const context = contextOf('rpc');
    offerLeases(context, leases);
    const result = await LEASE_INTERCEPTOR.intercept(context, { handle: () => of('done') });
    expect(steps).toEqual([]);
    expect(await lastValueFrom(result)).toBe('done');
    expect(steps).toEqual(['claim', 'release']);
  });

  it('passes on a stream of a message handler as it is, and the leases end with the result', async () => {
    const context = contextOf('rpc');
    offerLeases(context, leases);
    const stream = Readable.from(['a']);
    const result = await LEASE_INTERCEPTOR.intercept(context, { handle: () => of(stream) });
    expect(await lastValueFrom(result)).toBe(stream);
    expect(steps).toEqual(['claim', 'release']);
  });

  it('keeps leases of a GraphQL subscription until its iterator ends', async () => {
    const context = contextOf('graphql');
    offerLeases(context, leases);
    const handle = () => of(Readable.from(['a']));
    const iterator = (await firstValueFrom(
      await LEASE_INTERCEPTOR.intercept(context, { handle }),
    )) as AsyncIterableIterator<unknown>;
    expect(await iterator.next()).toEqual({ done: false, value: 'a' });
    expect(steps).toEqual(['claim']);
    await iterator.next();
    expect(steps).toEqual(['claim', 'release']);
  });
});
