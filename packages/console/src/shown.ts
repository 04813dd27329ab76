import type { Line } from './line.ts'

/** What has been committed: it can't be taken back, so it is never said twice and never contradicted without a word. */
export interface Shown {
  /** The blocks by their keys. */
  readonly keys: ReadonlySet<string>
  /** Of each text, what was shown: a prefix of it, unless it was rewritten since. */
  readonly texts: ReadonlyMap<string, string>
}

/** A piece of the picture, from top to bottom. */
export interface Block {
  readonly key: string
  /** It will not change any more. */
  readonly final: boolean
  /** Committed at once, also before unfinished ones above it. */
  readonly urgent?: true
  /** A blank row before it: always, never, or where the neighbour is of another kind. */
  readonly gap: 'always' | 'never' | 'between'
  readonly kind: 'text' | 'row' | 'note'
  readonly lines: readonly Line[]
  /** Of which text this is a slice. An empty slice at 0 takes back what was shown before. */
  readonly slice?: { readonly partID: string; readonly start: number; readonly source: string }
}

/** The one place that remembers. `add` after the block was handed to the stream. */
export function createShown(): Shown & { add(block: Block): void } {
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
