/** The tags of doc comments. Any other `@word` at the start of a line is a decorator that an editor would show as a tag. */
export const DOC_TAGS = ['param', 'returns', 'throws', 'default', 'example', 'see', 'internal'];
