import { planOnce } from '../../../src/rules/plan-once.js';
import type { Scope } from '../../../src/rules/rule.js';
import { declared, DEFAULTS, OWNER } from '../fixtures.js';

const OTHER_HANDLER = { ...OWNER, handler: 'other' };
const OTHER_CLASS = { ...OWNER, classIdentity: 'other' };
const rule = (scope: Scope) => declared({ window: '1m', limit: 1 }, scope);

describe('planOnce', () => {
  it('plans a rule of the application once for all handlers', () => {
    const one = rule('app');
    expect(planOnce(one, OTHER_CLASS, DEFAULTS)).toBe(planOnce(one, OWNER, DEFAULTS));
  });

  it('plans a rule of a controller once for its handlers, and again for another controller', () => {
    const one = rule('controller');
    const planned = planOnce(one, OWNER, DEFAULTS);
    expect(planOnce(one, OTHER_HANDLER, DEFAULTS)).toBe(planned);
    expect(planOnce(one, OTHER_CLASS, DEFAULTS).id).not.toBe(planned.id);
  });

  it('plans a rule of a handler for each handler', () => {
    const one = rule('handler');
    expect(planOnce(one, OTHER_HANDLER, DEFAULTS).id).not.toBe(planOnce(one, OWNER, DEFAULTS).id);
  });

  it('plans a rule for each handler if its values may be missing, because each handler ends its own watch', () => {
    const one = declared({ window: '1m', limit: 1, key: '{params.id}' }, 'app');
    const [first, second] = [planOnce(one, OWNER, DEFAULTS), planOnce(one, OTHER_HANDLER, DEFAULTS)];
    expect(second).not.toBe(first);
    expect(second.id).toBe(first.id);
  });

  it('plans a rule again for another module', () => {
    const one = rule('app');
    const other = { ...DEFAULTS, countDenied: true };
    expect(planOnce(one, OWNER, DEFAULTS).countDenied).toBe(false);
    expect(planOnce(one, OWNER, other).countDenied).toBe(true);
  });
});
