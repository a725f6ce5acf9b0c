import { OPTION_NAMES } from '../../../src/freq-limit.resolve-options.js';
import { ENTRIES } from '../../../src/rules/plan-rule.js';
import { RULE_HINTS } from '../../../src/rules/rule-hints.js';

it.each(OPTION_NAMES.filter((name) => !(name in ENTRIES)))('says that %s belongs in the module', (name) => {
  expect(RULE_HINTS[name]).toEqual({
    advice: `write ${name} in FreqLimitModule.forRoot({ ${name}: … })`,
  });
});
