/** Caches results for texts that were used recently. */
export interface TextCache<T> {
  /** Returns the cached result for this text, or else the result of `make`. */
  get(text: string, make: (text: string) => T): T
}

/**
 * Creates a cache of at most `mostUnits` UTF-16 units, in two generations. Entries used since the last swap survive it, so
 * making room takes no search. Texts longer than a quarter of that are not kept.
 */
export function createTextCache<T>(mostUnits: number): TextCache<T> {
  let young = new Map<string, { readonly made: T }>()
  let old = young
  let units = 0
  return {
    get(text, make) {
      const recent = young.get(text)
      if (recent) return recent.made
      const found = old.get(text) ?? { made: make(text) }
      if (text.length > mostUnits / 4) return found.made
      young.set(text, found)
      units += text.length
      if (units > mostUnits / 2) [old, young, units] = [young, new Map(), 0]
      return found.made
    },
  }
}
