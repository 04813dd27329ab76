import type { Clock } from '@reply/core'
import { createTries, createTurns, type Turns } from '../src/failed/tries.ts'
import type { Store } from '../src/store/store.ts'
import { createMemoryStore } from '../src/testing.ts'
import { stateOf } from './state-of.ts'

/** A row of the model. */
export interface ModelRow {
  /** How long after it is begun it ends the process, in ms. Undefined for a healthy row. */
  readonly killsAfterMs: number | undefined
  /** How long a healthy row is handled until it is done, in ms. */
  readonly lastsMs: number
}

/** What ends a process of the model, or its lease, at random times. */
export interface ModelFaults {
  /** The mean time between two, in ms. */
  readonly everyMs: number
  /** How many of them leave the process as it was, which then takes its shards again. */
  readonly outages: number
}

/** How a model ended. */
export interface ModelResult {
  /** The names of healthy rows that were put aside. */
  readonly wrong: readonly string[]
  /** By the name of a killer: how many processes had ended when it was put aside. Undefined if it never was. */
  readonly killers: ReadonlyMap<string, number | undefined>
  /** How many processes ended, or lost their shards. */
  readonly ends: number
  /** How long the last row of a process waited until it was begun, in ms, for each that lived so long. */
  readonly waitedMs: readonly number[]
}

/** Returns random numbers from 0 to 1 that depend on the seed alone. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Time that passes as fast as the timers run. */
interface Timeline extends Pick<Clock, 'now' | 'after'> {
  /** Runs timers in their order until that is so. */
  runUntil(isOver: () => boolean): Promise<void>
}

function createTimeline(): Timeline {
  let now = 0
  const timers = new Set<{ readonly at: number; readonly run: () => void }>()
  return {
    now: () => now,
    after: (delayMs, run) => {
      const timer = { at: now + delayMs, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    runUntil: async (isOver) => {
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve))
        if (isOver()) return
        let first: { readonly at: number; readonly run: () => void } | undefined
        for (const timer of timers) if (!first || timer.at < first.at) first = timer
        if (!first) throw new Error('Nothing happens any more.')
        timers.delete(first)
        now = first.at
        first.run()
      }
    },
  }
}

/**
 * Lets processes handle rows of several shards, one process after the other, until `isEnough`. A process ends when a row
 * ends it, or by a fault. Its next one finds what it left. A healthy row that is done is replaced by another one.
 */
export async function playModel({
  random,
  shards,
  faults,
  isEnough,
}: {
  readonly random: () => number
  /** The rows of each shard. */
  readonly shards: readonly (readonly ModelRow[])[]
  readonly faults: ModelFaults | undefined
  readonly isEnough: (ends: number, left: readonly ModelRow[]) => boolean
}): Promise<ModelResult> {
  const wrong: string[] = []
  const killers = new Map<string, number | undefined>()
  const waitedMs: number[] = []
  const stores = shards.map(() => createMemoryStore({ clock: createTimeline() as never }))
  const rows = shards.map((of, shard) => new Map(of.map((row, nth) => [`${shard}/${nth}`, row])))
  for (const of of rows) for (const [name, row] of of) if (row.killsAfterMs !== undefined) killers.set(name, undefined)
  let count = 0
  let ends = 0
  let turns: Turns | undefined
  const left = (): readonly ModelRow[] => rows.flatMap((of) => [...of.values()])
  while (!isEnough(ends, left())) turns = await live(turns)
  return { wrong, killers, ends, waitedMs }

  /** Lets one process live until it ends. Resolves with its turns if only its lease was over. */
  async function live(before: Turns | undefined): Promise<Turns | undefined> {
    const time = createTimeline()
    let end: 'kill' | 'outage' | undefined
    const clock = {
      ...time,
      after: (delayMs: number, run: () => void) => time.after(delayMs, () => end === undefined && run()),
    } as Clock
    if (faults)
      clock.after(-Math.log(1 - random()) * faults.everyMs, () => {
        end = random() < faults.outages ? 'outage' : 'kill'
      })
    // A process that lives on for so long was outlived by its rows.
    clock.after(600_000, () => {
      end = 'kill'
    })
    const own = { ...createTurns(clock, random), ...(before && { process: before.process }) }
    let waiting = 0
    await Promise.all(rows.map(async (of, shard) => await handleAll(of, stores[shard] as Store)))
    await time.runUntil(() => end !== undefined || isEnough(ends, left()))
    ends++
    return end === 'outage' ? own : undefined

    async function handleAll(of: Map<string, ModelRow>, store: Store): Promise<void> {
      const alive: Store = {
        ...store,
        commit: async (...given) => await (end === undefined ? store.commit(...given) : new Promise(() => {})),
      }
      const failed = {
        ...{ pendingFor: () => ({ type: 'delivery' }) as never, write: () => [] },
        ...{ replyPending: async () => {}, emitCounts: async () => {} },
      }
      const tries = createTries({ state: stateOf(alive), failed, turns: own, clock, onError: () => {} })
      await tries.load()
      const together: [string, ModelRow][] = []
      for (const [name, row] of of) {
        if (!tries.next(name, {})) {
          of.delete(name)
          if (row.killsAfterMs === undefined) wrong.push(name)
          else killers.set(name, ends)
        } else if (tries.isHeld(name)) {
          waiting++
          void tries.make(name, [], async () => {
            if (--waiting === 0) waitedMs.push(time.now())
            await handle(name, row)
          })
        } else together.push([name, row])
      }
      await tries.begin(together.map(([name]) => ({ type: 'put', key: name, value: '' })))
      for (const [name, row] of together) tries.watch(name, handle(name, row))

      /** Handles a row until it is done, or ends the process. */
      async function handle(name: string, row: ModelRow): Promise<void> {
        await new Promise<void>((resolve) => {
          if (row.killsAfterMs === undefined) return clock.after(row.lastsMs * random() * 2, resolve)
          return clock.after(row.killsAfterMs * (0.9 + 0.2 * random()), () => {
            end ??= 'kill'
          })
        })
        of.delete(name)
        of.set(`new/${count++}`, row)
      }
    }
  }
}

const healthy: ModelRow = { killsAfterMs: undefined, lastsMs: 300_000 }
/** After how long killers kill, in ms. */
const killTimes = [0, 50, 300, 900, 3000, 8000]

/** Plays 150 faults, one every 5 to 60 s, among runs of minutes. Throws if one of them was put aside. */
export async function playStorm(seed: number): Promise<void> {
  const random = randomFrom(seed)
  const everyMs = 5000 * 12 ** random()
  const lastsMs = 20_000 * 30 ** random()
  const rows = (): readonly ModelRow[] =>
    Array.from({ length: 1 + Math.floor(random() * 8) }, () => ({ ...healthy, lastsMs }))
  const { wrong } = await playModel({
    ...{ random, faults: { everyMs, outages: random() * 0.4 } },
    shards: [rows(), rows()],
    isEnough: (ends) => ends >= 150,
  })
  if (wrong.length > 0) throw new Error(`Seed ${seed} put ${wrong} aside, at a fault every ${everyMs} ms.`)
}

/**
 * Plays up to three killers among healthy rows and faults, which are less frequent than a killer kills. Resolves with how many ends it took. Throws if one
 * stays, or a healthy row doesn't.
 */
export async function playMixture(seed: number): Promise<number> {
  const random = randomFrom(seed)
  const everyMs = 15_000 * 8 ** random()
  const times = killTimes.filter((ms) => ms <= everyMs / 8)
  const shards = Array.from({ length: 3 }, () => [
    ...Array.from({ length: Math.floor(random() * 8) }, () => healthy),
    ...(random() < 0.5 ? [{ killsAfterMs: times[Math.floor(random() * times.length)], lastsMs: 0 }] : []),
  ])
  const { wrong, ends, killers } = await playModel({
    ...{ random, shards, faults: { everyMs, outages: random() * 0.4 } },
    isEnough: (count, left) => count >= 200 || left.every(({ killsAfterMs }) => killsAfterMs === undefined),
  })
  if (wrong.length > 0) throw new Error(`Seed ${seed} put ${wrong} aside.`)
  if ([...killers.values()].includes(undefined))
    throw new Error(`Seed ${seed} left a killer: ${JSON.stringify(shards)}`)
  return ends
}

/**
 * Plays a killer beside 40 healthy rows, without faults. Resolves with how many processes it ended until it was put aside. Throws
 * if another one was.
 */
export async function playKillers(killsAfterMs: number, seed: number): Promise<{ kills: number; waitedMs: number }> {
  const result = await playModel({
    ...{ random: randomFrom(seed), faults: undefined },
    shards: [Array.from({ length: 40 }, () => healthy), [{ killsAfterMs, lastsMs: 0 }]],
    isEnough: (ends, left) => ends >= 100 || left.every((row) => row.killsAfterMs === undefined),
  })
  if (result.wrong.length > 0) throw new Error(`Seed ${seed} put ${result.wrong} aside.`)
  const [kills = Number.POSITIVE_INFINITY] = result.killers.values()
  return { kills, waitedMs: Math.max(...result.waitedMs) }
}
