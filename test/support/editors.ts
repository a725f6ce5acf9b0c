import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type typescript from 'typescript';
import { LanguageServer } from './language-server.js';

/** A mistake that an editor underlines. */
export interface Mistake {
  readonly line: number;
  readonly underlined: string;
  readonly message: string;
}

/** What an editor shows of one file. */
export interface Editor {
  completions(at: number): Promise<readonly string[]>;
  mistakes(): Promise<readonly Mistake[]>;
  /** The text over a name, with the names of its tags. */
  hover(at: number): Promise<{ readonly text: string; readonly tags: readonly string[] }>;
  close(): Promise<void>;
}

/** A file of a project that has a `tsconfig.json` in the same folder. */
export interface EditedFile {
  readonly folder: string;
  readonly name: string;
  readonly text: string;
}

/** An editor with a TypeScript that is a library in JavaScript. */
export function openInLanguageService(ts: typeof typescript, { folder, name }: EditedFile): Editor {
  const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: unknown;
  };
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, folder);
  const { fileExists, readFile, readDirectory, directoryExists, getDirectories, realpath } = ts.sys;
  const service = ts.createLanguageService({
    ...{
      fileExists,
      readFile,
      readDirectory,
      directoryExists,
      getDirectories,
      ...(realpath && { realpath }),
    },
    getCurrentDirectory: () => folder,
    getCompilationSettings: () => options,
    getScriptFileNames: () => fileNames,
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => ts.ScriptSnapshot.fromString(ts.sys.readFile(path) ?? ''),
    getDefaultLibFileName: (compilerOptions) => ts.getDefaultLibFilePath(compilerOptions),
  });
  const path = join(folder, name);
  return {
    completions: async (at) =>
      (service.getCompletionsAtPosition(path, at, {})?.entries ?? []).map((entry) => entry.name),
    mistakes: async () =>
      service.getSemanticDiagnostics(path).map(({ file, start = 0, length = 0, messageText }) => ({
        line: file!.getLineAndCharacterOfPosition(start).line,
        underlined: file!.text.slice(start, start + length),
        message: ts.flattenDiagnosticMessageText(messageText, '\n'),
      })),
    hover: async (at) => {
      const { displayParts, documentation, tags = [] } = service.getQuickInfoAtPosition(path, at)!;
      const texts = [displayParts, documentation, ...tags.map((tag) => tag.text)];
      return { text: texts.map(ts.displayPartsToString).join('\n'), tags: tags.map((tag) => tag.name) };
    },
    close: async () => service.dispose(),
  };
}

interface Position {
  readonly line: number;
  readonly character: number;
}
interface Report {
  readonly items: readonly {
    readonly severity: number;
    readonly range: { readonly start: Position; readonly end: Position };
    readonly message: string;
  }[];
}
/** In the protocol. Others are warnings and hints. */
const ERROR = 1;

/** An editor with a TypeScript that is a program: a language server. */
export async function openInLanguageServer(tsc: string, { folder, name, text }: EditedFile): Promise<Editor> {
  const server = new LanguageServer(process.execPath, [tsc, '--lsp', '--stdio']);
  const rootUri = pathToFileURL(folder).href;
  const uri = `${rootUri}/${name}`;
  await server.request('initialize', { processId: process.pid, rootUri, capabilities: {} });
  server.notify('initialized', {});
  server.notify('textDocument/didOpen', {
    textDocument: { uri, languageId: 'typescript', version: 1, text },
  });
  const request = <T>(method: string, at: number): Promise<T> =>
    server.request(`textDocument/${method}`, { textDocument: { uri }, position: positionOf(text, at) });
  return {
    completions: async (at) => {
      const { items } = await request<{ items: { label: string }[] }>('completion', at);
      return items.map(({ label }) => label.replace('?', ''));
    },
    mistakes: async () => {
      const { items } = await server.request<Report>('textDocument/diagnostic', { textDocument: { uri } });
      return items
        .filter(({ severity }) => severity === ERROR)
        .map(({ range: { start, end }, message }) => ({
          line: start.line,
          underlined: text.slice(offsetOf(text, start), offsetOf(text, end)),
          message,
        }));
    },
    hover: async (at) => {
      const { contents } = await request<{ contents: { value: string } }>('hover', at);
      return { text: contents.value, tags: [...contents.value.matchAll(/^@(\w+)/gm)].map(([, tag]) => tag!) };
    },
    close: () => server.stop(),
  };
}

function positionOf(text: string, at: number): Position {
  const lines = text.slice(0, at).split('\n');
  return { line: lines.length - 1, character: lines.at(-1)!.length };
}

function offsetOf(text: string, { line, character }: Position): number {
  const before = text.split('\n').slice(0, line);
  return before.reduce((sum, { length }) => sum + length + 1, character);
}
