import base from './jest.config.js';

/** The same suite on Nest 11 and ioredis 5. */
export default {
  ...base,
  displayName: 'nest-11',
  moduleNameMapper: {
    ...base.moduleNameMapper,
    '^(@nestjs/(?:common|core|testing|platform-express|platform-fastify)|ioredis)(/.*)?$':
      '<rootDir>/compat/nest-11/node_modules/$1$2',
  },
};
