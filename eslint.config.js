import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import jest from 'eslint-plugin-jest';
import { defineConfig } from 'eslint/config';
import globals from 'globals';
import ts from 'typescript-eslint';

export default defineConfig(
  {
    ignores: [
      'dist/**',
      'coverage/**',
      'compat/**',
      'bench/node_modules/**',
      'docs/api/**',
      'test/pack/consumers/**',
      '**/*.generated.ts',
    ],
  },
  js.configs.recommended,
  { languageOptions: { globals: globals.node } },
  {
    files: ['**/*.ts'],
    extends: [ts.configs.strictTypeChecked, ts.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    },
  },
  {
    files: ['test/**/*.ts', 'examples/**/*.ts', 'bench/**/*.ts'],
    extends: [jest.configs['flat/recommended']],
    settings: { jest: { version: 30 } },
    rules: {
      // handlers are looked up on prototypes, odd values are handed over on purpose, answers of fetch are unknown
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-extraneous-class': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/require-await': 'off',
      'jest/no-standalone-expect': ['error', { additionalTestBlockFunctions: ['afterEach', 'afterAll'] }],
      'jest/expect-expect': ['error', { assertFunctionNames: ['expect', 'expect*', 'fc.assert'] }],
      // in an ES module it is a global for the compiler alone
      'no-restricted-globals': ['error', { name: 'jest', message: "Import it from '@jest/globals'." }],
    },
  },
  {
    files: ['test/{contract,e2e,fault,lua,pack,support}/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^(\\.\\./)+src/(\\w+/)?index\\.js$',
              message:
                "Import the library as its users do: from 'nestjs-freq-limit', or its /testing or /throttler.",
            },
          ],
        },
      ],
    },
  },
  // a suite that stores run, not a test file
  {
    // suites that several tests run, for stores and kinds of counters that differ
    files: ['test/contract/*.contract.ts'],
    rules: {
      'jest/no-export': 'off',
      'jest/no-standalone-expect': 'off',
      'jest/no-conditional-expect': 'off',
    },
  },
  prettier,
);
