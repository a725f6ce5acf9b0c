import { FreqLimitGuard } from '../../../src/freq-limit.guard.js';
import { FreqLimitModule } from '../../../src/freq-limit.module.js';
import { FreqLimitService } from '../../../src/freq-limit.service.js';
import { checkGuard } from '../../../src/nest/made-by-nest.js';
import { thrownBy } from '../fixtures.js';

type Created = new (...args: unknown[]) => object;

it.each<[string, Created, unknown[], string]>([
  ['the guard', FreqLimitGuard as Created, [], 'write @UseGuards(FreqLimitGuard) without new'],
  ['the guard with a Reflector', FreqLimitGuard as Created, [{}], 'write @UseGuards(FreqLimitGuard)'],
  [
    'a subclass with the arguments of the throttler',
    class UserGuard extends (FreqLimitGuard as Created) {},
    [{}, {}, {}],
    'UserGuard: its constructor calls super() without the arguments of FreqLimitGuard; remove the constructor',
  ],
  ['the service', FreqLimitService as Created, [], 'constructor(private readonly limits: FreqLimitService)'],
  [
    'the module',
    FreqLimitModule as unknown as Created,
    [],
    'write imports: [FreqLimitModule.forRoot()] without new',
  ],
])('%s cannot be created with new', (_, Class, args, message) => {
  const error = thrownBy(() => new Class(...args));
  expect(error).toMatchObject({ code: 'FREQ_LIMIT_INVALID_OPTIONS' });
  expect(error.message).toContain(message);
});

describe('a subclass of the guard', () => {
  abstract class Guard {
    abstract canActivate(): boolean;
  }
  Guard.prototype.canActivate = () => true;

  it.each([
    ['getTracker', 'the option key of a rule, or defaultKey of the module'],
    ['shouldSkip', 'the option skipIf of a rule or of the module'],
    ['throwThrottlingException', 'the option exceptionFactory of the module'],
    ['handleRequest', 'the option onVerdict of the module, or override canActivate'],
  ])('cannot override %s, which is never called', (name, instead) => {
    class UserGuard extends Guard {
      declare canActivate: () => boolean;
    }
    Object.assign(UserGuard.prototype, { [name]: () => undefined });
    expect(thrownBy(() => checkGuard(Guard, UserGuard, {})).message).toBe(
      `UserGuard.${name}: Guard never calls this method; remove it, and use ${instead}`,
    );
  });

  it('may have such a method if it overrides canActivate', () => {
    class UserGuard extends Guard {
      override canActivate() {
        return this.shouldSkip();
      }
      shouldSkip() {
        return true;
      }
    }
    expect(() => checkGuard(Guard, UserGuard, {})).not.toThrow();
  });
});
