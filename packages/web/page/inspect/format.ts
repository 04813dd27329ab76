/** Returns a time of day with milliseconds, in the reader's zone. Empty if it is unknown. */
export function timeOfDay(at: number): string {
  if (at <= 0) return ''
  const time = new Date(at)
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${String(time.getMilliseconds()).padStart(3, '0')}`
}

/** Returns how long something took: `340 ms`, `12.4 s`, `3 min 5 s`. */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

/** Returns a value as indented JSON, without what `raw` fields repeat. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value, (key, field: unknown) => (key === 'raw' ? undefined : field), 2) ?? ''
}

/** Returns a JSON text indented. The text itself if it isn't JSON. */
export function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
