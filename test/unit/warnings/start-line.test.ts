import { startLine } from '../../../src/warnings/start-line.js';
import { declared } from '../fixtures.js';
import { plannedHandler } from './handlers.js';

const PLACE = { place: 'the memory of this process', isUp: true, namespace: 'fl' };
const START = 'Limits are counted in the memory of this process, namespace "fl". ';

const ofModule = declared({ window: '1d', limit: 100 }, 'app', 'rules[0] of FreqLimitModule');
const ofClass = declared({ window: '1h', limit: 10 }, 'controller', '@FreqLimit on Sms');
const ofHandler = (name: string) =>
  declared({ window: '1m', limit: 1, key: '{user.id}' }, 'handler', `@FreqLimit on Sms.${name}`);

describe('the line at start-up', () => {
  it('counts each declared rule once, and each handler', () => {
    const handlers = ['send', 'check', 'list'].map((name) =>
      plannedHandler(name, [ofModule, ofClass, ofHandler(name)]),
    );
    expect(startLine({ ...PLACE, protected: handlers, hasRules: true })).toBe(
      `${START}5 rules protect 3 handlers.`,
    );
  });

  it('counts rules at one place by their name, or by key and window', () => {
    const rules = [{ key: '{ip}' }, { key: '{user.id}' }, { window: '2m' }, { name: 'a' }, { name: 'b' }];
    const handler = plannedHandler(
      'send',
      rules.map((rule) => declared({ window: '1m', limit: 1, ...rule }, 'handler', 'here')),
    );
    expect(startLine({ ...PLACE, protected: [handler], hasRules: true })).toBe(
      `${START}5 rules protect 1 handler.`,
    );
  });

  it('says one rule and one handler', () => {
    const handlers = [plannedHandler('send', [ofModule])];
    expect(startLine({ ...PLACE, protected: handlers, hasRules: true })).toBe(
      `${START}1 rule protects 1 handler.`,
    );
  });

  it('says how many rules are shadows', () => {
    const shadow = declared({ window: '1m', limit: 1, shadow: true }, 'handler', 'here');
    const handlers = [plannedHandler('send', [ofModule, shadow])];
    expect(startLine({ ...PLACE, protected: handlers, hasRules: true })).toBe(
      `${START}2 rules (1 with shadow: true, which never denies) protect 1 handler.`,
    );
  });

  it('says that no handler has a limit, or that none is protected', () => {
    expect(startLine({ ...PLACE, protected: [], hasRules: false })).toBe(`${START}No handler has a limit.`);
    expect(startLine({ ...PLACE, protected: [], hasRules: true })).toBe(
      `${START}No rule protects a handler.`,
    );
  });
});
