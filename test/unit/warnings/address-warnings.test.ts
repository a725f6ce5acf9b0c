import { LoggedAddressWarnings } from '../../../src/warnings/address-warnings.js';
import { captureLog } from '../../support/log.js';

const { lines } = captureLog();

it('logs each warning once', () => {
  const warnings = new LoggedAddressWarnings();
  for (let i = 0; i < 3; i++) {
    warnings.noAddress();
    warnings.untrustedProxy();
  }
  expect(lines).toEqual([
    expect.stringMatching(/^FREQ_LIMIT_NO_ADDRESS: A request has no IP address/),
    expect.stringMatching(
      /^FREQ_LIMIT_UNTRUSTED_PROXY: A request with a header such as X-Forwarded-For came from an address/,
    ),
  ]);
});

it('watches the first 1,000 requests, and then one in 64', () => {
  const warnings = new LoggedAddressWarnings();
  const watched = Array.from({ length: 1_640 }, () => warnings.shouldCheckProxy());
  expect(watched.slice(0, 1_000)).not.toContain(false);
  expect(watched.slice(1_000).filter(Boolean)).toHaveLength(10);
});
