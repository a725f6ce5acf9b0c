import { SkipFreqLimit } from '../../../src/decorators/skip-freq-limit.decorator.js';
import { classLevels, handlerLevels } from '../../../src/rules/levels.js';

describe('@SkipFreqLimit', () => {
  it.each<[string, string[]]>([
    ['all rules without a name', []],
    ['one by its name', ['daily']],
    ['several by their names', ['daily', 'minute']],
  ])('skips %s', (_, names) => {
    @SkipFreqLimit(...names)
    class Controller {
      @SkipFreqLimit(...names)
      m(): void {}
    }
    expect(handlerLevels(Controller, 'm')[0]!.skip?.names).toEqual(names);
    expect(classLevels(Controller)[0]?.skip?.names).toEqual(names);
  });
});
