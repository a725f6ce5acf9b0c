import ts from 'typescript';
import { DOC_TAGS } from '../support/doc-tags.js';
import { hardWordsIn } from '../support/plain-words.js';

const ENTRIES = ['src/index.ts', 'src/testing/index.ts', 'src/throttler/index.ts'];

/** What an editor shows of a public declaration. */
interface PublicDoc {
  readonly name: string;
  readonly text: string;
  readonly tags: readonly string[];
}

const { config } = ts.readConfigFile('tsconfig.json', (file) => ts.sys.readFile(file)) as { config: unknown };
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.');
const compilerOptions = { ...options, noEmit: true, noLib: true, types: [] };
const host = ts.createCompilerHost(compilerOptions);
// only the files of this package, which takes a second less than with all of Nest
host.resolveModuleNameLiterals = (literals, from) =>
  literals.map(({ text }) =>
    text.startsWith('.')
      ? ts.resolveModuleName(text, from, compilerOptions, host)
      : { resolvedModule: undefined },
  );
const program = ts.createProgram(ENTRIES, compilerOptions, host);
const checker = program.getTypeChecker();

function docsOf(entry: string): PublicDoc[] {
  const file = program.getSourceFile(entry);
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`${entry} exports nothing`);
  return checker.getExportsOfModule(module).flatMap((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return [
      ...docsOfSymbol(symbol.name, target),
      ...membersOf(target).flatMap((member) => docsOfSymbol(`${symbol.name}.${member.name}`, member)),
    ];
  });
}

/** Functions and methods have a doc for each signature, because an editor shows that of the one in use. */
function docsOfSymbol(name: string, symbol: ts.Symbol): PublicDoc[] {
  const [declaration] = symbol.declarations ?? [];
  const signatures =
    symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Method) && declaration !== undefined
      ? checker.getTypeOfSymbolAtLocation(symbol, declaration).getCallSignatures()
      : [];
  const documented = signatures.length > 1 ? signatures : [symbol];
  return documented.map((one) => ({
    name,
    text: [
      ts.displayPartsToString(one.getDocumentationComment(checker)),
      ...one.getJsDocTags().map((tag) => ts.displayPartsToString(tag.text)),
    ].join('\n'),
    tags: one.getJsDocTags().map((tag) => tag.name),
  }));
}

/** The public members of a class, static ones too, or of an interface. Those of other packages are not known here. */
function membersOf(symbol: ts.Symbol): ts.Symbol[] {
  const ofType = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol));
  return [...ofType, ...(symbol.exports?.values() ?? [])].filter(isPublicMember);
}

function isPublicMember({ flags, declarations = [] }: ts.Symbol): boolean {
  const isMember =
    (flags & (ts.SymbolFlags.Property | ts.SymbolFlags.Method | ts.SymbolFlags.Accessor)) !== 0;
  return isMember && (flags & ts.SymbolFlags.Prototype) === 0 && declarations.every(isPublic);
}

function isPublic(declaration: ts.Declaration): boolean {
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  const name = ts.getNameOfDeclaration(declaration);
  const isSymbol = name !== undefined && ts.isComputedPropertyName(name);
  return (ts.getCombinedModifierFlags(declaration) & hidden) === 0 && !isSymbol;
}

describe.each(ENTRIES)('the public declarations of %s', (entry) => {
  const docs = docsOf(entry);

  it('have a doc comment', () => {
    expect(docs.length).toBeGreaterThan(1);
    expect(docs.filter(({ text }) => text.trim() === '').map(({ name }) => name)).toEqual([]);
  });

  it('have no decorator that an editor would show as a tag', () => {
    const unknown = docs.flatMap(({ name, tags }) =>
      tags.filter((tag) => !DOC_TAGS.includes(tag)).map((tag) => `${name}: @${tag}`),
    );
    expect(unknown).toEqual([]);
  });

  it('have no words that are hard to read', () => {
    const hard = docs.flatMap(({ name, text }) => hardWordsIn(text).map(({ word }) => `${name}: ${word}`));
    expect(hard).toEqual([]);
  });
});
