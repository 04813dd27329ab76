/** Remembers what was made of texts that were asked for lately. */
export interface TextCache<T> {
  /** What was made of this text, or what `make` makes of it now. */
  get(text: string, make: (text: string) => T): T
}

/**
 * Holds texts of at most so many UTF-16 units together, in two generations: when the younger one is full, the older one
 * is forgotten, and what was used since stays. So no entry has to be searched for to make room. Texts longer than a
 * quarter of that are not kept.
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
