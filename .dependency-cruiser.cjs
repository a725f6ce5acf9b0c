/** Which folders of src/ a folder may import, apart from itself: one way only. The files of src/ itself may import all. */
const MAY_IMPORT = {
  core: [],
  nest: ['core'],
  store: ['core'],
  contexts: ['core'],
  rules: ['core', 'contexts'],
  decisions: ['core', 'nest', 'contexts', 'rules'],
  answers: ['core', 'nest', 'contexts', 'rules'],
  leases: ['core', 'nest', 'contexts', 'rules', 'decisions'],
  plans: ['core', 'nest', 'contexts', 'rules', 'decisions', 'leases', 'answers'],
  warnings: ['core', 'nest', 'contexts', 'rules', 'plans'],
  decorators: ['core', 'rules', 'decisions'],
};

const oneWay = Object.entries(MAY_IMPORT).map(([folder, others]) => ({
  name: `${folder}-looks-only-down`,
  comment: `src/${folder} may import ${others.join(', ') || 'no other folder'}`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: '^src/', pathNot: `^src/(${[folder, ...others].join('|')})/` },
}));

module.exports = {
  forbidden: [
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-folders-that-import-each-other',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
    ...oneWay,
    {
      name: 'folders-of-the-store-see-only-core',
      comment: 'create-store puts the stores together; layers/, memory/ and redis/ do not know each other',
      severity: 'error',
      from: { path: '^src/store/([^/]+)/' },
      to: { path: '^src/store/', pathNot: '^src/store/$1/' },
    },
    {
      name: 'core-is-pure',
      comment: 'core/ knows no framework and no client',
      severity: 'error',
      from: { path: '^src/core' },
      to: { pathNot: ['^src/core', '^(node:)?crypto$'] },
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
