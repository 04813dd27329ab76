import type { Lexer, Token, Tokens } from 'marked'

/** Whether nothing in a line can be markup or an address, so that marked reads it as one text. */
export function isText(line: string): boolean {
  return line !== '' && !/[\\<&`*_~[\]!:@\n]|www\./i.test(line)
}

/** The spans of a line. A line without markup needs no place in the lexer's queue. */
export function spansOf(line: string, lexer: Lexer): Token[] {
  return isText(line) ? [textSpan(line)] : lexer.inline(line)
}

export function textSpan(text: string): Tokens.Text {
  return { type: 'text', raw: text, text, escaped: false }
}

/** Whether emphasis may begin there. An underscore between letters does not begin any. */
export function isMark(src: string, before = ''): boolean {
  return (
    src.startsWith('*') || (src.startsWith('_') && !(/^_+[\p{L}\p{N}]/u.test(src) && /[\p{L}\p{N}]$/u.test(before)))
  )
}

/**
 * UTF-16 units before the @ of an address: RFC 5321 allows 64, and 254 in all. Unbounded, marked would read each word
 * to its end from every mark in it.
 */
const addressLength = 254

/** The rules for text and addresses, with a bounded search for an @. */
export function boundedAddresses({ text, url }: { readonly text: RegExp; readonly url: RegExp }): {
  text: RegExp
  url: RegExp
} {
  return { text: bounded(text), url: bounded(url) }
}

const boundedRules = new Map<RegExp, RegExp>()

function bounded(rule: RegExp): RegExp {
  const known = boundedRules.get(rule)
  if (known) return known
  const source = rule.source.replace(/\]\+(?=\(?@)/g, `]{1,${addressLength}}`)
  const one = new RegExp(source, rule.flags)
  boundedRules.set(rule, one)
  return one
}
