import { escapeInvisible } from '@reply/core'
import type { Texts } from '../texts.ts'

/**
 * Escapes would be visible within a link, so an address must not become one. Its colon, or the dot of `www.`, is escaped,
 * too.
 */
const markup = /[\\`*_{}[\]<>()#+\-!|~]|&(?=#?\w+;)|:(?=\/\/)|(?<=\bwww)\./gi

/** Escapes untrusted text, so that Markdown shows it verbatim in one line, with hidden characters made visible. */
export function literal(text: string): string {
  return escapeInvisible(text.replace(/\s+/g, ' ').trim()).replace(markup, '\\$&')
}

/** Formats a line of the sink's own text, escaped and in italics. Empty if the text is blank. */
export function italic(text: string): string {
  const line = literal(text)
  return line === '' ? '' : `*${line}*`
}

/** Like `italic`, but in the platform's small print if it has one, see `Limits.small`. */
export function smallPrint(text: string, small: ((line: string) => string) | undefined): string {
  const line = literal(text)
  return line === '' || !small ? italic(text) : small(line)
}

/** Returns the link to the page of the run, in Markdown. Empty if there is none, or its text is blank. */
export function pageLink({
  texts,
  page,
}: {
  readonly texts: Pick<Texts, 'openPage'>
  readonly page?: URL | undefined
}): string {
  const label = literal(texts.openPage)
  // Parentheses would end the address.
  return page === undefined || label === ''
    ? ''
    : `[${label}](${page.href.replaceAll('(', '%28').replaceAll(')', '%29')})`
}

/** Returns the text as one line of at most `maxLength` UTF-16 units. Never splits a surrogate pair. */
export function oneLine(text: string, maxLength: number): string {
  return clip(escapeInvisible(text.replace(/\s+/g, ' ').trim()), maxLength)
}

/** Cuts a text to `maxLength` UTF-16 units and ends it with "…". Never splits a surrogate pair. */
export function clip(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const kept = text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')
  return `${kept.trimEnd()}…`
}

/**
 * Returns a code span in one line, of at most `maxLength` UTF-16 units, with `'` for backticks. Empty if the text is
 * blank.
 */
export function code(text: string, maxLength = 200): string {
  const line = oneLine(text.replace(/`/g, "'"), maxLength)
  return line === '' ? '' : `\`${line}\``
}
