import type { Reply } from '../reply.ts'

/**
 * Formats a duration as `0.4s`, `42s`, `3m 05s` or `1h 02m`, with tenths below ten seconds and rounded to seconds from
 * there. Negative times count as 0: clocks of two machines may disagree.
 */
export function duration(ms: number): string {
  return ms < 9_950 ? `${(Math.max(0, ms) / 1000).toFixed(1)}s` : elapsed(Math.round(ms / 1000) * 1000)
}

/**
 * Formats a running time in whole seconds, rounded down: `0s`, `42s`, `3m 05s`, `1h 02m`. Negative times count as 0.
 */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m ${twoDigits(seconds % 60)}s`
  return `${Math.floor(minutes / 60)}h ${twoDigits(minutes % 60)}m`
}

/** Formats a count as `950`, `12.3k` or `1.2M`, without `.0`. */
export function amount(count: number): string {
  if (count < 1_000) return String(count)
  if (count < 999_950) return `${trimZero((count / 1_000).toFixed(1))}k`
  return `${trimZero((count / 1_000_000).toFixed(1))}M`
}

/** Formats a cost as `$0.0012` below a cent, and otherwise as `$1.20`. */
export function dollars(cost: number): string {
  return `$${cost.toFixed(cost < 0.01 ? 4 : 2)}`
}

/**
 * Formats a size as `999 B`, `1.2 kB`, `50 MB` or `2 GB`, without `.0`. Rounds up, so that a file above a limit never shows the
 * limit's size.
 */
export function byteSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  // Above these, the rounded number would be 1000.
  if (bytes <= 999_900) return `${Math.ceil(bytes / 100) / 10} kB`
  return bytes <= 999_900_000 ? `${Math.ceil(bytes / 1e5) / 10} MB` : `${Math.ceil(bytes / 1e8) / 10} GB`
}

/** Formats a count with its noun: `1 step`, `3 steps`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** How full the model's context is, rounded to whole percent, up to 100. Undefined if it rounds to 0 or is unknown. */
export function contextPercent({ usage }: Pick<Reply, 'usage'>): number | undefined {
  const { contextTokens, contextLimit } = usage
  if (contextTokens === undefined || contextLimit === undefined || contextLimit <= 0) return undefined
  const percent = Math.min(100, Math.round((contextTokens / contextLimit) * 100))
  return percent < 1 ? undefined : percent
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

/** `12.0` becomes `12`. */
function trimZero(text: string): string {
  return text.replace(/\.0$/, '')
}
