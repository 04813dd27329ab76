/** Replaces known values in a text that comes in pieces. */
export interface HiddenValues {
  /** Returns what is decided: all but what may be the beginning of a value. */
  push(piece: string): string
  /** Returns the rest. */
  end(): string
}

/** The result doesn't depend on how the text was split. Where two values begin, the longer one is replaced. */
export function hideValues(values: readonly string[]): HiddenValues {
  const sorted = [...new Set(values)].toSorted((a, b) => b.length - a.length)
  const longest = sorted[0]?.length ?? 0
  const pattern = new RegExp(sorted.map((value) => value.replaceAll(/[^\w\s]/g, String.raw`\$&`)).join('|'), 'g')
  let held = ''
  return { push: (piece) => (longest === 0 ? piece : read(held + piece, longest - 1)), end: () => read(held, 0) }

  /** Only values that begin before the last `ahead` units are whole for sure. */
  function read(text: string, ahead: number): string {
    const decided = Math.max(0, text.length - ahead)
    let out = ''
    let from = 0
    for (const { index, 0: value } of longest === 0 ? [] : text.matchAll(pattern)) {
      if (index >= decided) break
      out += `${text.slice(from, index)}[redacted]`
      from = index + value.length
    }
    const end = Math.max(from, decided)
    held = text.slice(end)
    return out + text.slice(from, end)
  }
}
