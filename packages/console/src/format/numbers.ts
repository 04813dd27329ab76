/** `0.4s`, `42s`, `3m 05s`, `1h 02m`. Negative times count as 0: clocks of two machines may disagree. */
export function duration(ms: number): string {
  if (ms < 9_950) return `${(Math.max(0, ms) / 1000).toFixed(1)}s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m ${twoDigits(seconds % 60)}s`
  return `${Math.floor(minutes / 60)}h ${twoDigits(minutes % 60)}m`
}

/** Whole seconds, for running times. */
export function ticking(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  return seconds < 60 ? `${seconds}s` : duration(seconds * 1000)
}

/** `950`, `12.3k`, `1.2M`. */
export function amount(count: number): string {
  if (count < 1_000) return String(count)
  if (count < 999_950) return `${trimZero((count / 1_000).toFixed(1))}k`
  return `${trimZero((count / 1_000_000).toFixed(1))}M`
}

/** `1 step`, `3 steps`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** How full the context is, in whole per cent. Undefined below one, or while either number is unknown. */
export function contextUse(usage: {
  contextTokens?: number | undefined
  contextLimit?: number | undefined
}): number | undefined {
  if (usage.contextTokens === undefined || usage.contextLimit === undefined || usage.contextLimit <= 0) return undefined
  const use = Math.round((usage.contextTokens / usage.contextLimit) * 100)
  return use < 1 ? undefined : use
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

function trimZero(text: string): string {
  return text.replace(/\.0$/, '')
}
