import { toFailure } from '../../../../src/store/redis/errors.js';
import { UnexpectedReplyError } from '../../../../src/store/redis/reply-values.js';

describe('the error of the store', () => {
  it.each([
    [Object.assign(new Error('READONLY'), { name: 'ReplyError' }), 'Redis returned an error: READONLY'],
    [new UnexpectedReplyError(), 'Redis returned an unexpected reply: it is not a reply of the script'],
    [new Error('socket closed'), 'Redis did not answer: socket closed'],
  ])('says what happened for %s', (error, message) => {
    expect(toFailure(error)).toMatchObject({ code: 'FREQ_LIMIT_STORE_FAILED' });
    expect(toFailure(error).message).toContain(message);
  });
});
