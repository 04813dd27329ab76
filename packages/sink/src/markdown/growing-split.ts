import { emptyHash, type HashState, hashedTo, hashOfState } from '../hash.ts'
import type { OpenBlocks } from './reopen-blocks.ts'
import { type Slice, type SplitOptions, split } from './split.ts'

/** How a text is cut. Compared by identity. */
export interface Cutting extends Pick<SplitOptions, 'maxLength' | 'escapable' | 'measure'> {
  readonly from: number
  /** The blocks that are open at `from`. */
  open(): OpenBlocks | undefined
  /** The values that `measure` depends on. */
  readonly measuredBy: readonly unknown[]
}

/** The most texts that can grow at the same time, over all chats. */
const mostTexts = 16

interface Cut extends Omit<Cutting, 'measure' | 'open'> {
  readonly source: string
  readonly slices: readonly HashedSlice[]
}

export interface HashedSlice extends Slice {
  /** The hash of the text up to the slice's end, and the state to continue it. */
  readonly upTo: string
  readonly hashed: HashState
}

/**
 * Returns a `split` that continues from an earlier cut of the same growing text and reuses its complete slices.
 * Remembers the `mostTexts` newest texts.
 */
export function createGrowingSplit(): (source: string, cutting: Cutting) => readonly HashedSlice[] {
  let newest: readonly Cut[] = []
  return (source, { measuredBy, open, ...options }) => {
    const wanted = { ...options, measuredBy }
    const before = newest.find((cut) => isCutAlike(cut, wanted) && beginsAlike(cut, source))
    if (before?.source === source) return before.slices
    const sealed = before?.slices.slice(0, -1) ?? []
    const last = sealed.at(-1)
    const rest = split(source, last ? { ...options, from: last.to, open: last.open } : { ...options, open: open() })
    let hashed = last?.hashed ?? emptyHash
    const added = rest.map((slice) => {
      hashed = hashedTo(slice.to, source, hashed)
      return { ...slice, upTo: hashOfState(hashed), hashed }
    })
    const slices = [...sealed, ...added]
    const cut = { ...wanted, source, slices }
    newest = [cut, ...newest.filter((one) => one !== before)].slice(0, mostTexts)
    return slices
  }
}

/** Whether both cuts begin at the same place and have the same limits. */
function isCutAlike(a: Omit<Cut, 'source' | 'slices'>, b: Omit<Cut, 'source' | 'slices'>): boolean {
  return (
    a.from === b.from &&
    a.maxLength === b.maxLength &&
    a.escapable === b.escapable &&
    a.measuredBy.length === b.measuredBy.length &&
    a.measuredBy.every((one, at) => one === b.measuredBy[at])
  )
}

/**
 * Whether all but the last slice of the earlier text can be reused. False for a shorter text, which may need fewer
 * slices.
 */
function beginsAlike({ slices, source: before }: Cut, source: string): boolean {
  if (before === source) return true
  const end = slices.at(-2)?.to
  return end !== undefined && source.length > before.length && source.startsWith(before.slice(0, end))
}
