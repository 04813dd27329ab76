import type { Line } from '../format/styled-line.ts'

/** What was committed. It can't be taken back, so nothing is shown twice, and a contradiction gets a note. */
export interface Committed {
  /** The keys of committed blocks. */
  readonly keys: ReadonlySet<string>
  /** The shown part of each text: a prefix of it, unless the text was rewritten. */
  readonly texts: ReadonlyMap<string, string>
}

/** A piece of the view, from top to bottom. */
export interface Block {
  readonly key: string
  /** It will not change any more. */
  readonly final: boolean
  /** Committed at once, even before unfinished blocks above it. */
  readonly urgent?: true
  /** Whether a blank row precedes it. `between`: only next to a block of another kind. */
  readonly gap: 'always' | 'never' | 'between'
  readonly kind: 'text' | 'row' | 'note'
  readonly lines: readonly Line[]
  /** The slice of a text that it shows. An empty slice at 0 takes back what was shown before. */
  readonly slice?: { readonly partID: string; readonly start: number; readonly source: string }
}

/** The only state of what was shown. Call `add` after writing the block to the stream. */
export function createCommitted(): Committed & { add(block: Block): void } {
  const keys = new Set<string>()
  const texts = new Map<string, string>()
  return {
    keys,
    texts,
    add({ key, slice }) {
      keys.add(key)
      if (slice === undefined) return
      const before = texts.get(slice.partID) ?? ''
      texts.set(slice.partID, before.slice(0, slice.start) + slice.source)
    },
  }
}
