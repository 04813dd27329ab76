import type { Line } from '../format/styled-line.ts'
import type { Block } from './committed.ts'

/** The kind of block above the next row. Undefined if there is none. */
export type Above = Block['kind'] | undefined

/**
 * Which blocks may be committed now: the final ones up to the first that isn't, and the urgent ones. At the end of a
 * reply, all of them.
 */
export function choose(
  blocks: readonly Block[],
  ended: boolean,
): { readonly commit: readonly Block[]; readonly rest: readonly Block[] } {
  if (ended) return { commit: blocks, rest: [] }
  const commit: Block[] = []
  const rest: Block[] = []
  for (const block of blocks) {
    const free = block.final && rest.every(({ final }) => final)
    if (free || block.urgent) commit.push(block)
    else rest.push(block)
  }
  return { commit, rest }
}

/** The blocks' rows, with blank rows between them. */
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
