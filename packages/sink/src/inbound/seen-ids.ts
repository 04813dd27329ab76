import type { Clock } from '@reply/core'
import * as z from 'zod'
import type { LedgerStore } from '../ledger/ledger.ts'

/** Where ids of inbounds live. */
export interface SeenOptions {
  /** Default: in memory only, so that a repeat after a restart is new. */
  readonly store?: LedgerStore | undefined
  /** The store's key. */
  readonly key: string
  readonly clock: Clock
  /** The store failed: inbounds are handled all the same. */
  readonly onError: (message: string, cause: unknown) => void
}

/** The ids of the last inbounds, to drop what a platform delivers twice. */
export interface Seen {
  /** Whether this process knows the id. */
  has(id: string): boolean
  /**
   * Keeps an id. Resolves with false if an earlier process kept it, and otherwise once it is stored: before the host
   * gets the inbound, so that a crash in between loses it rather than handles it twice. Undefined without a store.
   */
  add(id: string): Promise<boolean> | undefined
  /** Forgets an id that was just added: the host did not take the inbound. */
  drop(id: string): void
}

/** How many ids are kept. */
const most = 1000

/** How long ids are kept, in ms: twice as long as a platform delivers again, which is a day. */
const ageMs = 172_800_000

export function createSeen({ store, key, clock, onError }: SeenOptions): Seen {
  let known = new Map<string, number>()
  let earlier: Promise<ReadonlySet<string>> | undefined
  let last = Promise.resolve()
  let next: Promise<void> | undefined
  let isReported = false
  return { has, add, drop }

  function has(id: string): boolean {
    const at = known.get(id)
    return at !== undefined && !isOld(at)
  }

  function add(id: string): Promise<boolean> | undefined {
    known.delete(id)
    known.set(id, clock.now())
    const [oldest] = known.size > most ? known.keys() : []
    if (oldest !== undefined) known.delete(oldest)
    return store && admit(id, store)
  }

  function drop(id: string): void {
    known.delete(id)
    if (store) void save(store)
  }

  async function admit(id: string, from: LedgerStore): Promise<boolean> {
    earlier ??= load(from)
    if ((await earlier).has(id)) return false
    await save(from)
    return true
  }

  async function load(from: LedgerStore): Promise<ReadonlySet<string>> {
    try {
      const text = await from.read(key)
      const ids = text === undefined ? [] : readIds(text).filter(([, at]) => !isOld(at))
      keep([...ids.filter(([id]) => !known.has(id)), ...known])
      return new Set(ids.map(([id]) => id))
    } catch (cause) {
      onError(`The ids in ${key} could not be read: what the platform repeats may be handled again.`, cause)
      return new Set()
    }
  }

  /** All that wait for the same write share it. */
  function save(to: LedgerStore): Promise<void> {
    next ??= last.then(() => write(to))
    last = next
    return next
  }

  async function write(to: LedgerStore): Promise<void> {
    next = undefined
    try {
      await to.write(key, writeIds([...known].filter(([, at]) => !isOld(at))))
      isReported = false
    } catch (cause) {
      if (isReported) return
      isReported = true
      onError(`The ids in ${key} could not be written: after a restart, repeats may be handled again.`, cause)
    }
  }

  function keep(ids: InboundIds): void {
    known = new Map(ids.filter(([, at]) => !isOld(at)).slice(-most))
  }

  function isOld(at: number): boolean {
    return clock.now() - at > ageMs
  }
}

const schema = z.object({ version: z.literal(1), ids: z.array(z.tuple([z.string(), z.number()])) })

/** Ids of inbounds, each with when it arrived, in ms since the epoch. Oldest first. */
type InboundIds = readonly (readonly [id: string, at: number])[]

/** Throws if the text was not written by `writeIds`. */
function readIds(text: string): InboundIds {
  return schema.parse(JSON.parse(text)).ids
}

function writeIds(ids: InboundIds): string {
  return JSON.stringify({ version: 1, ids })
}
