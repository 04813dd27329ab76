import type { Line } from '../format/styled-line.ts'

/** The committed blocks. They can't be taken back, so nothing is shown twice, and a contradiction gets a note. */
export interface Committed {
  /** The keys of committed blocks. */
  readonly keys: ReadonlySet<string>
  /** The shown part of each text: a prefix of it, unless the text was rewritten. */
  readonly texts: ReadonlyMap<string, string>
}

/** A piece of the view, from top to bottom. */
export interface Block {
  readonly key: string
  /** Whether it can no longer change. */
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

/** Creates the record of the blocks that were written, which `view` leaves out. Call `add` after writing a block. */
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

/** The kind of block above the next row. Undefined at the top. */
export type Above = Block['kind'] | undefined

/**
 * Returns the blocks that may be committed now apart from the rest: the final ones up to the first that isn't, and the
 * urgent ones. At the end of a reply, all of them.
 */
export function splitCommittable(
  blocks: readonly Block[],
  ended: boolean,
): { readonly commit: readonly Block[]; readonly rest: readonly Block[] } {
  if (ended) return { commit: blocks, rest: [] }
  const commit: Block[] = []
  const rest: Block[] = []
  for (const block of blocks) {
    const isCommittable = block.final && rest.every(({ final }) => final)
    if (isCommittable || block.urgent) commit.push(block)
    else rest.push(block)
  }
  return { commit, rest }
}

/**
 * Returns the blocks' rows, with blank rows before those whose `gap` asks for one, but not at the top. Also returns the
 * kind of block that is last, for the next call. Blocks without rows are skipped.
 */
export function layout(
  blocks: readonly Block[],
  above: Above,
): { readonly rows: readonly Line[]; readonly above: Above } {
  const rows: Line[] = []
  let before = above
  for (const { gap, kind, lines } of blocks) {
    if (lines.length === 0) continue
    if (before !== undefined && (gap === 'always' || (gap === 'between' && before !== kind))) rows.push([])
    rows.push(...lines)
    before = kind
  }
  return { rows, above: before }
}
