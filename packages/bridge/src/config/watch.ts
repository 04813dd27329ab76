import { stat } from 'node:fs/promises'
import type { Clock } from '@reply/core'
import { BridgeError, messageOf } from '../error.ts'
import { readPeople } from './load.ts'
import type { BridgeConfig } from './schema.ts'

type PeopleConfig = BridgeConfig['people']

/** Reads the people of a config anew when its file changes. */
export interface ConfigWatch {
  /** Begins to look, for changes since the config was read. */
  start(): void
  /** Reads the file now. */
  read(): Promise<void>
  /** The program itself replaced the people: they are the list from which a file may take. */
  replaced(people: PeopleConfig): void
  stop(): void
}

export interface ConfigWatchOptions {
  readonly path: string
  /** The config that runs. */
  readonly config: BridgeConfig
  /** What the file was when that config was read. */
  readonly stamp: string
  /** Reads and checks the whole file. Throws `BridgeError` of type `config`. */
  readonly load: () => BridgeConfig
  readonly setPeople: (people: PeopleConfig) => void
  readonly onNotice: (notice: string) => void
  readonly onError: (error: Error) => void
  readonly clock: Clock
}

/**
 * How often the file is looked at, in ms. Its name is looked up each time, so that a file that an editor or a mounted
 * volume put in its place is noticed, also behind a link.
 */
const lookMs = 1000

const gone = 'gone'

/** Another text of the file has another stamp. */
export async function stampOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join('/')
  } catch {
    return gone
  }
}

export function watchConfig(options: ConfigWatchOptions): ConfigWatch {
  const { path, config, load, setPeople, onNotice, onError, clock } = options
  let people = config.people
  /** What was read last, and what could not be used: that is reported when it is still the same at the next look. */
  let known = options.stamp
  let suspect = ''
  let told = ''
  let stopTimer = (): void => {}
  let isStopped = false
  let reading = Promise.resolve()
  return {
    start: next,
    read: async () => await look(true),
    replaced: (given) => {
      people = given
    },
    stop: () => {
      isStopped = true
      stopTimer()
    },
  }

  function next(): void {
    if (!isStopped) stopTimer = clock.after(lookMs, () => void look(false).finally(next))
  }

  async function look(isForced: boolean): Promise<void> {
    reading = reading.then(async () => await readOnce(isForced)).catch(report)
    await reading
  }

  async function readOnce(isForced: boolean): Promise<void> {
    const stamp = await stampOf(path)
    if (isStopped || (stamp === known && !isForced)) return
    try {
      const read = load()
      known = stamp
      take(read.people)
      tellOthers(read)
    } catch (error) {
      // An editor may be in the middle of writing it.
      if (stamp === suspect || isForced) {
        known = stamp
        refuse(error)
      }
      suspect = stamp
    }
  }

  function take(read: PeopleConfig): void {
    const next = onlyOn(Object.keys(config.channels), read)
    if (same(next, people)) return
    setPeople(next)
    people = next
    const names = Object.keys(next).join(', ') || 'none'
    onNotice(`Reloaded the people and their rights from ${path}: ${names}.`)
  }

  /** What can't be used gives no one anything. What it takes away, as far as it can be read, is taken away. */
  function refuse(error: unknown): void {
    const read = readPeople(path)
    const kept = read && commonOf(people, read)
    const isLess = kept !== undefined && !same(kept, people)
    if (isLess) {
      setPeople(kept)
      people = kept
    }
    const what = isLess
      ? 'Until you fix it, people keep only the rights that it still lists.'
      : 'Until you fix it, people and rights stay as they were.'
    onError(new BridgeError('config', `${messageOf(error)}\n${what}`, { cause: error }))
  }

  function tellOthers(read: BridgeConfig): void {
    const changed = namesOf(read).filter((name) => !same(read[name], config[name]))
    const words = changed.join(', ')
    if (words !== '' && words !== told) onNotice(`${path} has changes in ${words}. They take effect after a restart.`)
    told = words
  }

  function report(error: unknown): void {
    onError(error instanceof Error ? error : new Error(String(error)))
  }
}

/** The people without their ids on channels that come with a restart. */
function onlyOn(channels: readonly string[], people: PeopleConfig): PeopleConfig {
  return Object.fromEntries(
    Object.entries(people).flatMap(([name, { ids, may }]) => {
      const here = ids.filter((id) => channels.includes(id.slice(0, id.indexOf(':'))))
      return here.length > 0 ? [[name, { ids: here, may }]] : []
    }),
  )
}

/** The rights that both lists give the same ids. */
export function commonOf(before: PeopleConfig, after: PeopleConfig): PeopleConfig {
  const mayNow = new Map(Object.values(after).flatMap(({ ids, may }) => ids.map((id) => [id, may] as const)))
  return Object.fromEntries(
    Object.entries(before).flatMap(([name, { ids, may }]) => {
      const kept = ids.filter((id) => mayNow.has(id))
      const common = may.filter((right) => kept.every((id) => mayNow.get(id)?.includes(right)))
      return kept.length > 0 ? [[name, { ids: kept, may: common }]] : []
    }),
  )
}

/** All that takes a restart. */
function namesOf(config: BridgeConfig): readonly Exclude<keyof BridgeConfig, 'people' | '$schema'>[] {
  const { $schema: _, people: __, ...others } = config
  return Object.keys(others) as readonly (keyof typeof others)[]
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
