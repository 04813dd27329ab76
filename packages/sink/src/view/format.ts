import { escapeInvisible } from '@reply/core'

/** Within an address escapes would show, so it must not become a link: its colon, or the dot of `www.`, is escaped, too. */
const markup = /[\\`*_{}[\]<>()#+\-!|~]|&(?=#?\w+;)|:(?=\/\/)|(?<=\bwww)\./gi

/** Untrusted text as Markdown that shows it verbatim, in one line, with hidden characters made visible. */
export function literal(text: string): string {
  return escapeInvisible(text.replace(/\s+/g, ' ').trim()).replace(markup, '\\$&')
}

/** A line of our own text, escaped and in italics. Empty if they are blank. */
export function italic(text: string): string {
  const line = literal(text)
  return line === '' ? '' : `*${line}*`
}

/** The same in the platform's small print, if it has one: `Limits.small`. */
export function smallPrint(text: string, small: ((line: string) => string) | undefined): string {
  const line = literal(text)
  return line === '' || !small ? italic(text) : small(line)
}

/** One line of at most that many UTF-16 units. Never splits a surrogate pair. */
export function oneLine(text: string, most: number): string {
  return clip(escapeInvisible(text.replace(/\s+/g, ' ').trim()), most)
}

/** Cuts to `most` UTF-16 units, the last of them "…". Never splits a surrogate pair. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text
  const kept = text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')
  return `${kept.trimEnd()}…`
}

/** A code span, in one line. */
export function code(text: string, most = 200): string {
  const line = oneLine(text.replace(/`/g, "'"), most)
  return line === '' ? '' : `\`${line}\``
}
