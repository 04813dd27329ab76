import { type Reply, visible } from '@reply/core'

/** A rounded number, such as "12.3k". */
export function amount(count: number | undefined): string | undefined {
  if (count === undefined) return undefined
  if (count < 1000) return String(count)
  const thousands = count / 1000
  return `${thousands < 10 ? thousands.toFixed(1).replace(/\.0$/, '') : Math.round(thousands)}k`
}

/** How full the model's context is, in percent. Undefined if unknown. */
export function contextPercent({ usage }: Reply): number | undefined {
  const { contextTokens, contextLimit } = usage
  if (contextTokens === undefined || contextLimit === undefined || contextLimit <= 0) return undefined
  return Math.min(100, Math.round((contextTokens / contextLimit) * 100))
}

/** A tool's name without its server's: "mcp__files__read" becomes "read". */
export function toolLabel(name: string): string {
  return name.replace(/\bmcp__[^_\s]+(?:_[^_\s]+)*__/g, '')
}

/** Untrusted text as Markdown that shows it verbatim, in one line, with hidden characters made visible. */
export function literal(text: string): string {
  return visible(text.replace(/\s+/g, ' ').trim()).replace(/[\\`*_{}[\]<>()#+\-!|~]|&(?=#?\w+;)/g, '\\$&')
}

/** One line of at most that many UTF-16 units. Never splits a surrogate pair. */
export function oneLine(text: string, most: number): string {
  return clip(visible(text.replace(/\s+/g, ' ').trim()), most)
}

export function clip(text: string, most: number): string {
  if (text.length <= most) return text
  let kept = ''
  for (const letter of text.slice(0, most)) {
    if (kept.length + letter.length > most - 1) break
    kept += letter
  }
  return `${kept.trimEnd()}…`
}

/** A code span, in one line. */
export function code(text: string, most = 200): string {
  const line = oneLine(text.replace(/`/g, "'"), most)
  return line === '' ? '' : `\`${line}\``
}
