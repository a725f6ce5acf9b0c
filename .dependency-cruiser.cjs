/** Who may import whom: one way only. */
const LAYER = '^src/(contexts|http|store|rules)/';

module.exports = {
  forbidden: [
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'core-is-pure',
      comment: 'core/ knows no framework, no client and no other folder',
      severity: 'error',
      from: { path: '^src/core' },
      to: { pathNot: ['^src/core', '^(node:)?crypto$'] },
    },
    {
      name: 'layers-do-not-look-sideways',
      severity: 'error',
      from: { path: LAYER },
      to: { path: LAYER, pathNot: '^src/$1/' },
    },
    {
      name: 'layers-do-not-look-up',
      severity: 'error',
      from: { path: [LAYER, '^src/decorators'] },
      to: { path: '^src/[^/]+\\.ts$' },
    },
    {
      name: 'ioredis-only-in-the-redis-store',
      severity: 'error',
      from: { path: '^src', pathNot: '^src/store/redis' },
      to: { path: 'node_modules/ioredis' },
    },
    {
      name: 'stores-know-no-nest',
      severity: 'error',
      from: { path: '^src/store' },
      to: { path: 'node_modules/@nestjs' },
    },
    {
      name: 'the-throttler-only-in-its-storage',
      severity: 'error',
      from: { path: '^src', pathNot: '^src/throttler' },
      to: { path: 'node_modules/@nestjs/throttler' },
    },
    {
      name: 'nobody-imports-a-subpath',
      comment: 'what may be left out of an application must be needed by nothing else',
      severity: 'error',
      from: { path: '^src', pathNot: '^src/(testing|throttler)/' },
      to: { path: '^src/(testing|throttler)/' },
    },
    {
      name: 'subpaths-do-not-look-sideways',
      severity: 'error',
      from: { path: '^src/(testing|throttler)/' },
      to: { path: '^src/(testing|throttler)/', pathNot: '^src/$1/' },
    },
    { name: 'nobody-imports-index', severity: 'error', from: { path: '^src' }, to: { path: '^src/index' } },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.js'],
    },
  },
};
