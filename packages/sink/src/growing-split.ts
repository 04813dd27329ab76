import type { Carry } from './carry.ts'
import { emptyHash, type HashState, hashedTo, hashIn } from './ledger.ts'
import { type Slice, type SplitOptions, split } from './split.ts'

/** How a text is cut. Compared by identity. */
export interface Cutting extends Pick<SplitOptions, 'maxLength' | 'swells' | 'measure'> {
  readonly from: number
  /** What is carried to `from`. */
  carry(): Carry | undefined
  /** What `measure` depends on. */
  readonly measuredBy: readonly unknown[]
}

/** Texts that grow at the same time: in several chats, or in one. */
const mostTexts = 16

interface Cut extends Omit<Cutting, 'measure' | 'carry'> {
  readonly source: string
  readonly slices: readonly HashedSlice[]
}

export interface HashedSlice extends Slice {
  /** The hash of the text up to where the slice ends, and how to go on with it. */
  readonly upTo: string
  readonly hashed: HashState
}

/** Cuts as `split` does, and goes on where a text that was cut before has grown: what is sealed stays as it is. */
export function createGrowingSplit(): (source: string, cutting: Cutting) => readonly HashedSlice[] {
  let newest: readonly Cut[] = []
  return (source, { measuredBy, carry, ...options }) => {
    const wanted = { ...options, measuredBy }
    const before = newest.find((cut) => isSame(cut, wanted) && beginsAlike(cut, source))
    if (before?.source === source) return before.slices
    const sealed = before?.slices.slice(0, -1) ?? []
    const last = sealed.at(-1)
    const rest = split(source, last ? { ...options, from: last.to, carry: last.carry } : { ...options, carry: carry() })
    let hashed = last?.hashed ?? emptyHash
    const added = rest.map((slice) => {
      hashed = hashedTo(slice.to, source, hashed)
      return { ...slice, upTo: hashIn(hashed), hashed }
    })
    const slices = [...sealed, ...added]
    const cut = { ...wanted, source, slices }
    newest = [cut, ...newest.filter((one) => one !== before)].slice(0, mostTexts)
    return slices
  }
}

function isSame(a: Omit<Cut, 'source' | 'slices'>, b: Omit<Cut, 'source' | 'slices'>): boolean {
  return (
    a.from === b.from &&
    a.maxLength === b.maxLength &&
    a.swells === b.swells &&
    a.measuredBy.length === b.measuredBy.length &&
    a.measuredBy.every((one, at) => one === b.measuredBy[at])
  )
}

/** Up to where the last slice begins, which alone may become another one. A shorter text may need fewer slices. */
function beginsAlike({ slices, source: before }: Cut, source: string): boolean {
  if (before === source) return true
  const end = slices.at(-2)?.to
  return end !== undefined && source.length > before.length && source.startsWith(before.slice(0, end))
}
