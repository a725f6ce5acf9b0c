import { readFileSync } from 'node:fs';
import type { FreqLimitErrorCode } from '../../src/core/errors.js';
import { LOG_CODES } from '../../src/core/log-codes.js';

// does not compile when a code is missing
const ERROR_CODES: Readonly<Record<FreqLimitErrorCode, true>> = {
  FREQ_LIMIT_INVALID_OPTIONS: true,
  FREQ_LIMIT_INVALID_RULE: true,
  FREQ_LIMIT_INVALID_CHECK: true,
  FREQ_LIMIT_RULE_FAILED: true,
  FREQ_LIMIT_STORE_FAILED: true,
};

const page = readFileSync(new URL('../../docs/log-messages.md', import.meta.url), 'utf8');
const sections = page
  .split(/^#+ /m)
  .map((section) => section.split('\n\n'))
  .filter(([heading = '']) => heading.startsWith('FREQ_LIMIT_'));

describe('docs/log-messages.md', () => {
  it('has one heading for each code, and no other', () => {
    const codes = new Set<string>([...LOG_CODES, ...Object.keys(ERROR_CODES)]);
    expect(sections.map(([heading]) => heading).sort()).toEqual([...codes].sort());
  });

  it.each(sections)('explains %s', (_, explanation) => {
    expect(explanation).toMatch(/\.\s*$/);
  });
});
