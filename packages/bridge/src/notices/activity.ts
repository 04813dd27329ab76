import { toError } from '../error.ts'
import type { People } from '../people/people.ts'
import { readWithExpiry, type SharedState } from '../state/state.ts'

/** When people last wrote or pressed something in a chat of the bridge, in all processes. */
export interface Activity {
  /** Call it for each action of an actor that this process received. Does nothing for people without notices. Never throws. */
  note(channel: string, actor: Parameters<People['personOf']>[1]): void
  /** Returns how long ago a person last acted, in ms, by the store's clock. Infinity if that is not known. */
  agoMs(person: string): Promise<number>
}

/** How long the last action is remembered, in ms: a day, the longest `awayMs`. */
const rememberedMs = 86_400_000
/** How much older the stored action may be than the last one, in ms. It saves a write for each message. */
const writeEveryMs = 5000

/** Keeps the last action of each person with notices in the state. */
export function createActivity({
  state,
  people,
  monotonic,
  onError,
}: {
  readonly state: Pick<SharedState, 'list' | 'commitWithoutLease'>
  readonly people: Pick<People, 'personOf'>
  /** The time of this process, which is never set back, in ms. */
  readonly monotonic: () => number
  readonly onError: (error: Error) => void
}): Activity {
  /** By the name of a person: when this process received the last action, and when it stored one. */
  const acted = new Map<string, { readonly at: number; readonly storedAt: number }>()
  return { note, agoMs }

  /** Remembers the action, and stores it unless one was stored just before. */
  function note(...[channel, actor]: Parameters<Activity['note']>): void {
    const person = people.personOf(channel, actor)
    if (!person?.notify?.length) return
    const at = monotonic()
    const { storedAt = Number.NEGATIVE_INFINITY } = acted.get(person.name) ?? {}
    const isDue = at - storedAt >= writeEveryMs
    acted.set(person.name, { at, storedAt: isDue ? at : storedAt })
    if (!isDue) return
    const write = { type: 'put', key: keyOf(person.name), value: '', expiresInMs: rememberedMs } as const
    state.commitWithoutLease([write], { survives: 'process' }).catch((error: unknown) => onError(toError(error)))
  }

  /** Returns the time since the newer action: of this process, or in the store. */
  async function agoMs(person: string): Promise<number> {
    const { expiresInMs } = (await readWithExpiry(state, keyOf(person))) ?? {}
    const stored = expiresInMs === undefined ? Number.POSITIVE_INFINITY : Math.max(0, rememberedMs - expiresInMs)
    const own = acted.get(person)
    return own ? Math.min(stored, monotonic() - own.at) : stored
  }
}

/** Returns the key of the last action of a person. */
function keyOf(person: string): string {
  return `acted/${encodeURIComponent(person)}`
}
