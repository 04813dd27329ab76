import type { Reply } from '@reply/core'

/** "12.3k": what a person can compare. */
export function amount(count: number | undefined): string | undefined {
  if (count === undefined) return undefined
  if (count < 1000) return String(count)
  const thousands = count / 1000
  return `${thousands < 10 ? thousands.toFixed(1).replace(/\.0$/, '') : Math.round(thousands)}k`
}

/** How full the model's context is; undefined where nobody knows. */
export function contextPercent({ usage }: Reply): number | undefined {
  const { contextTokens, contextLimit } = usage
  if (contextTokens === undefined || contextLimit === undefined || contextLimit <= 0) return undefined
  return Math.min(100, Math.round((contextTokens / contextLimit) * 100))
}

/** Without the name of the server that a tool comes from: "mcp__files__read" is "read". */
export function toolLabel(name: string): string {
  return name.replace(/\bmcp__[^_\s]+(?:_[^_\s]+)*__/g, '')
}

/** Text of the outside, as Markdown that shows it as it is, in one line. */
export function literal(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[\\`*_{}[\]<>()#+\-!|~]/g, '\\$&')
}

/** In a code span, in one line. */
export function code(text: string, most = 200): string {
  const line = text.replace(/\s+/g, ' ').replace(/`/g, "'").trim()
  return line === '' ? '' : `\`${line.length <= most ? line : `${line.slice(0, most - 1)}…`}\``
}
