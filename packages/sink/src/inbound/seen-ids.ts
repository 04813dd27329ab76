import type { Clock } from '@reply/core'
import * as z from 'zod'
import type { LedgerStore } from '../ledger/ledger.ts'

/** The ids of the last inbounds, to detect repeated deliveries. */
export interface Seen {
  /** Whether this process knows the id. */
  has(id: string): boolean
  /**
   * Adds an id. Resolves with false if an earlier process added it, otherwise with true once it is stored. The host gets
   * the inbound after that, so a crash in between loses it instead of handling it twice. Returns undefined without a store.
   */
  add(id: string): Promise<boolean> | undefined
  /** Removes an id that was just added, because the host did not take the inbound. */
  drop(id: string): void
}

/** How many ids are kept. */
const most = 1000

/** How long ids are kept, in ms. Platforms redeliver for a day, and this is twice as long. */
const ageMs = 172_800_000

/**
 * Creates an empty list of ids, kept under a key of the store. It reads the store when the first id is added. Without a
 * store, a repeat after a restart is not detected. `onError` is called when the store failed. Inbounds are handled anyway.
 */
export function createSeen(
  store: LedgerStore | undefined,
  key: string,
  clock: Clock,
  onError: (message: string, cause: unknown) => void,
): Seen {
  let knownIDs = new Map<string, number>()
  let storedIDs: Promise<ReadonlySet<string>> | undefined
  let lastWrite = Promise.resolve()
  let nextWrite: Promise<void> | undefined
  let isReported = false
  return { has, add, drop }

  /** Whether the id was added. False once that is longer ago than `ageMs`. */
  function has(id: string): boolean {
    const at = knownIDs.get(id)
    return at !== undefined && !isOld(at)
  }

  /**
   * Adds the id to those of this process, and drops the oldest beyond the limit. With a store, resolves with whether it is
   * new there, too.
   */
  function add(id: string): Promise<boolean> | undefined {
    knownIDs.delete(id)
    knownIDs.set(id, clock.now())
    const [oldest] = knownIDs.size > most ? knownIDs.keys() : []
    if (oldest !== undefined) knownIDs.delete(oldest)
    return store && addUnlessStored(id, store)
  }

  /** Removes the id, also from the store. */
  function drop(id: string): void {
    knownIDs.delete(id)
    if (store) void scheduleWrite(store)
  }

  /** Resolves with false if an earlier process stored the id. Otherwise stores it and resolves with true. */
  async function addUnlessStored(id: string, from: LedgerStore): Promise<boolean> {
    storedIDs ??= loadStoredIDs(from)
    if ((await storedIDs).has(id)) return false
    await scheduleWrite(from)
    return true
  }

  /** Resolves with the ids of earlier processes, and keeps them. Empty if they can't be read, which is reported. */
  async function loadStoredIDs(from: LedgerStore): Promise<ReadonlySet<string>> {
    try {
      const text = await from.read(key)
      const ids = text === undefined ? [] : readIds(text).filter(([, at]) => !isOld(at))
      keepNewest([...ids.filter(([id]) => !knownIDs.has(id)), ...knownIDs])
      return new Set(ids.map(([id]) => id))
    } catch (cause) {
      onError(`The ids in ${key} could not be read. Inbounds that the platform repeats may be handled twice.`, cause)
      return new Set()
    }
  }

  /** Writes all ids after the current write. Calls share a write that has not started yet. */
  function scheduleWrite(to: LedgerStore): Promise<void> {
    nextWrite ??= lastWrite.then(() => writeOrReport(to))
    lastWrite = nextWrite
    return nextWrite
  }

  /** Writes all ids. Reports only the first of several failures, and never rejects. */
  async function writeOrReport(to: LedgerStore): Promise<void> {
    nextWrite = undefined
    try {
      await to.write(key, writeIds([...knownIDs].filter(([, at]) => !isOld(at))))
      isReported = false
    } catch (cause) {
      if (isReported) return
      isReported = true
      onError(`The ids in ${key} could not be written. After a restart, repeated inbounds may be handled twice.`, cause)
    }
  }

  /** Replaces the known ids by the newest `most` of these that are not too old. */
  function keepNewest(ids: InboundIds): void {
    knownIDs = new Map(ids.filter(([, at]) => !isOld(at)).slice(-most))
  }

  /** Whether that time, in ms since the epoch, is longer ago than `ageMs`. */
  function isOld(at: number): boolean {
    return clock.now() - at > ageMs
  }
}

const schema = z.object({ version: z.literal(1), ids: z.array(z.tuple([z.string(), z.number()])) })

/** Ids of inbounds with the time when they arrived, in ms since the epoch. Oldest first. */
type InboundIds = readonly (readonly [id: string, at: number])[]

/** Parses the ids. Throws if the text was not written by `writeIds`. */
function readIds(text: string): InboundIds {
  return schema.parse(JSON.parse(text)).ids
}

/** Returns the ids as JSON for `readIds`. */
function writeIds(ids: InboundIds): string {
  return JSON.stringify({ version: 1, ids })
}
