import type { Tokenizer, Tokens } from 'marked'

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

type SpanRules = Tokenizer['rules']['inline']

/** The rules with a bounded search for the @ of an address, and those for a line without an @. */
export function boundedAddresses(rules: SpanRules): { readonly any: SpanRules; readonly none: SpanRules } {
  const known = boundedRules.get(rules)
  if (known) return known
  const both = { any: repeating(rules, `{1,${addressLength}}`), none: repeating(rules, '(?!)') }
  boundedRules.set(rules, both)
  return both
}

const boundedRules = new WeakMap<SpanRules, ReturnType<typeof boundedAddresses>>()

/** The rules with `times` in place of each + before an @. */
function repeating(rules: SpanRules, times: string): SpanRules {
  const changed = ({ source, flags }: RegExp): RegExp => new RegExp(source.replace(/\]\+(?=\(?@)/g, `]${times}`), flags)
  return { ...rules, text: changed(rules.text), url: changed(rules.url) }
}

/** A label of plain words that no definition has, as one text. marked would read it in three parts. */
export function undefinedLabel(src: string, links: Tokenizer['lexer']['tokens']['links']): Tokens.Text | undefined {
  const [raw, label] = /^\[([A-Za-z0-9]{1,99})\](?!\[)/.exec(src) ?? []
  if (raw === undefined || label === undefined || Object.hasOwn(links, label.toLowerCase())) return undefined
  return { type: 'text', raw, text: raw }
}

/** Opening brackets in a line without a closing one. marked would search for a link at each of them. */
export function openBrackets(src: string): Tokens.Text | undefined {
  const raw = /^(?:!?\[)+/.exec(src)?.[0]
  return raw === undefined ? undefined : { type: 'text', raw, text: raw }
}
