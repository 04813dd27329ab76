import type { Token as MarkedOrOther, MarkedToken, Tokens } from 'marked'

/** A Markdown token. marked types nested tokens more widely, and `knownTokens` narrows them. */
export type Token = MarkedToken

/** Narrows the type. No marked extensions are in use, so all tokens are marked's own. */
export function knownTokens(tokens: readonly MarkedOrOther[]): readonly Token[] {
  return tokens.every(isMarkedToken) ? tokens : tokens.filter(isMarkedToken)
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

/** Whether the token is one of marked's own types. */
function isMarkedToken(token: MarkedOrOther): token is Token {
  return kinds.has(token.type)
}

/** Whether a table's cell shows exactly what is written in it. */
export function isAsWritten({ text, tokens: [first, ...more] }: Tokens.TableCell): boolean {
  if (first === undefined) return text === ''
  return more.length === 0 && first.type === 'text' && first.raw === text && !text.includes('&')
}
