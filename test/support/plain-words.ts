/** A word or phrase that readers who are not native speakers stumble over, and what to write instead. */
interface HardWord {
  readonly pattern: RegExp;
  readonly instead: string;
}

const HARD_WORDS: readonly HardWord[] = [
  {
    pattern: /\b(?:lest|anew|naught|whilst|thereof|hence(?:forth)?|thus)\b/gi,
    instead: 'a word of everyday English',
  },
  { pattern: /\b(?:whom|whomever|whoever|whosoever)\b/gi, instead: 'client, user' },
  { pattern: /\bnobody(?:'s|’s)?\b/gi, instead: 'no client, no user, nothing' },
  { pattern: /\b(?:he|his|him|himself|she|her|hers)\b/gi, instead: 'the client, their' },
  { pattern: /\bspelt\b/gi, instead: 'normalized, written' },
  { pattern: /\bdear(?:ly)?\b/gi, instead: 'expensive, slow' },
  { pattern: /\bbeside\b/gi, instead: 'next to, in addition to' },
  {
    // a server may be behind a proxy
    pattern:
      /\bbehind\b(?!(?:\s+[\w'’-]+){0,4}\s+(?:prox(?:y|ies)|balancers?|NAT|gateways?|routers?|firewalls?))/gi,
    instead: 'after',
  },
  { pattern: /\bvisit(?:s|ed|ing|ors?|or's)?\b/gi, instead: 'request, client' },
  {
    pattern: /(?<!\bthere\s+)\b(?:is|are|was|were)\s+no\b(?!\s+(?:longer|more|less)\b)/gi,
    instead: 'is not a',
  },
  { pattern: /\bstands?\b(?!\s+still)/gi, instead: 'is, applies' },
  { pattern: /\b(?:is|are|was|were|be|been|being)\s+told\b/gi, instead: 'gets, is called with' },
  { pattern: /\b(?:is|are|was|were|be|been|being)\s+asked\b/gi, instead: 'is called, is queried' },
  { pattern: /\b(?:limits?|rules?|it|which|that)\s+holds?\b/gi, instead: 'applies, contains' },
  { pattern: /\bthose\s+who\b/gi, instead: 'clients that, users who' },
  { pattern: /\ba\s+text\b/gi, instead: 'a string' },
  { pattern: /\bWhat\s+(?:is|was|are|were)\b(?![^.?]*\?)/g, instead: 'a noun as the subject' },
  // "so" for "in this way"
  {
    pattern: /(?<!\b(?:say|says|do|does|did|if|not|even|or)\s+)\bso(?=\s*[.;:,)])/gi,
    instead: 'in this way',
  },
];

/** A hard word in a text. */
export interface Finding {
  readonly line: number;
  readonly word: string;
  readonly instead: string;
}

/** Finds hard words. Names in camelCase are read as their words, and a phrase may go over lines of a comment. */
export function hardWordsIn(text: string): Finding[] {
  const words = text
    // lengths stay the same, so that lines can be counted
    .replace(/^[ \t]*(?:\/\*\*|\*|\/\/|--|>)/gm, (prefix) => ' '.repeat(prefix.length))
    .replace(/([a-z])([A-Z])/g, '$1 $2');
  return HARD_WORDS.flatMap(({ pattern, instead }) =>
    [...words.matchAll(pattern)].map(({ 0: word, index }) => ({
      line: words.slice(0, index + word.length).split('\n').length,
      word: word.replace(/\s+/g, ' ').trim(),
      instead,
    })),
  );
}
