/** Replaces known values in a text that comes in pieces. */
export interface HiddenValues {
  /** Returns what is decided: all but what may be the beginning of a value. */
  push(piece: string): string
  /** Returns the rest. */
  end(): string
}

/** The result doesn't depend on how the text was split. Values that overlap are replaced as one. */
export function hideValues(values: readonly string[]): HiddenValues {
  const sought = [...new Set(values)]
  const longest = Math.max(0, ...sought.map(({ length }) => length))
  let held = ''
  /** How much of the start of `held` belongs to what was replaced. */
  let covered = 0
  return { push: (piece) => (longest === 0 ? piece : read(held + piece, longest - 1)), end: () => read(held, 0) }

  /** Only values that begin before the last `ahead` units are whole for sure. */
  function read(text: string, ahead: number): string {
    const decided = Math.max(0, text.length - ahead)
    let out = ''
    let until = covered
    for (const { start, end } of placesIn(text)) {
      if (start >= decided) break
      if (start >= until) out += `${text.slice(until, start)}[redacted]`
      until = Math.max(until, end)
    }
    out += text.slice(until, decided)
    held = text.slice(decided)
    covered = Math.max(0, until - decided)
    return out
  }

  /** Where values are, overlapping ones too, in the order of their starts. */
  function placesIn(text: string): readonly { readonly start: number; readonly end: number }[] {
    const places = sought.flatMap((value) => {
      const starts: number[] = []
      for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) starts.push(at)
      return starts.map((start) => ({ start, end: start + value.length }))
    })
    return places.sort((a, b) => a.start - b.start)
  }
}
