import type { Token as MarkedOrOther, MarkedToken } from 'marked'

/** A token of Markdown. Tokens inside it are typed more widely by marked: `known` narrows them. */
export type Token = MarkedToken

/** Narrows the type: no extensions of marked are in use, so all tokens are its own. */
export function known(tokens: readonly MarkedOrOther[]): readonly Token[] {
  return tokens.every(isKnown) ? tokens : tokens.filter(isKnown)
}

const kinds = new Set<string>([
  'blockquote',
  'br',
  'checkbox',
  'code',
  'codespan',
  'def',
  'del',
  'em',
  'escape',
  'heading',
  'hr',
  'html',
  'image',
  'link',
  'list',
  'list_item',
  'paragraph',
  'space',
  'strong',
  'table',
  'text',
] satisfies MarkedToken['type'][])

function isKnown(token: MarkedOrOther): token is Token {
  return kinds.has(token.type)
}
