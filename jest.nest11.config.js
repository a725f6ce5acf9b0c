import base from './jest.config.js';

/** The same suite on Nest 11 and ioredis 5. */
export default {
  ...base,
  displayName: 'nest-11',
  moduleNameMapper: {
    ...base.moduleNameMapper,
    '^(@nestjs/(?:apollo|common|core|graphql|mercurius|microservices|platform-[a-z.]+|swagger|testing|websockets)|ioredis)(/.*)?$':
      '<rootDir>/compat/nest-11/node_modules/$1$2',
  },
};
