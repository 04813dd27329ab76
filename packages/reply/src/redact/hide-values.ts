/** Replaces known values in a text that comes in pieces. */
export interface HiddenValues {
  /** Returns the text so far, without an end that may be the beginning of a value. */
  push(piece: string): string
  /** Returns the rest. */
  end(): string
}

/**
 * Creates a filter that replaces these values by `[redacted]`. The result doesn't depend on how the text was split.
 * Values that overlap are replaced as one. Empty values are ignored.
 */
export function hideValues(values: readonly string[]): HiddenValues {
  const sought = [...new Set(values)].filter((value) => value !== '')
  const longest = Math.max(0, ...sought.map(({ length }) => length))
  let pending = ''
  /** How many units at the start of `pending` belong to a value that was replaced already. */
  let covered = 0
  return {
    push: (piece) => (longest === 0 ? piece : replaceDecided(pending + piece, longest - 1)),
    end: () => replaceDecided(pending, 0),
  }

  /**
   * Replaces the values in a text, and returns it without its last `undecidedLength` units, where a value may still be
   * incomplete. Those stay pending.
   */
  function replaceDecided(text: string, undecidedLength: number): string {
    const decided = Math.max(0, text.length - undecidedLength)
    let result = ''
    let doneUntil = covered
    for (const { start, end } of occurrencesIn(text)) {
      if (start >= decided) break
      if (start >= doneUntil) result += `${text.slice(doneUntil, start)}[redacted]`
      doneUntil = Math.max(doneUntil, end)
    }
    result += text.slice(doneUntil, decided)
    pending = text.slice(decided)
    covered = Math.max(0, doneUntil - decided)
    return result
  }

  /** The occurrences of all values, also overlapping ones, in the order of their starts. */
  function occurrencesIn(text: string): readonly { readonly start: number; readonly end: number }[] {
    const places = sought.flatMap((value) => {
      const starts: number[] = []
      for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) starts.push(at)
      return starts.map((start) => ({ start, end: start + value.length }))
    })
    return places.sort((a, b) => a.start - b.start)
  }
}
