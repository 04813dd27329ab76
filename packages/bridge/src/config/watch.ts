import { stat } from 'node:fs/promises'
import type { Clock } from '@reply/core'
import { BridgeError, messageOf, toError } from '../error.ts'
import { readPeople } from './load.ts'
import type { BridgeConfig } from './schema.ts'

/** The people of a config, by their names. */
type PeopleConfig = BridgeConfig['people']

/** Reloads the people of a config when its file changes. */
export interface ConfigWatch {
  /** Starts to watch for changes since the config was read. Does nothing after `stop`. */
  start(): void
  /** Reads the file now, even if it did not change, and resolves when it is applied. Never rejects. */
  readNow(): Promise<void>
  /** Call it when the program replaced the people. An invalid file then removes rights from this list. */
  onPeopleReplaced(people: PeopleConfig): void
  /** Stops watching. A read in progress changes nothing if it has not looked at the file yet. */
  stop(): void
}

/**
 * How often the file is checked, in ms. Its path is resolved each time, so that a replaced file is noticed, for example by
 * an editor, a mounted volume or a changed link.
 */
const lookMs = 1000

const gone = 'gone'

/** Returns a string that changes when the file changes. A file that is missing or can't be looked up has one of its own. */
export async function fileStampOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join('/')
  } catch {
    return gone
  }
}

/** Watches a config file. Applies changes of `people`, and notices other changes, which need a restart. */
export function watchConfig(options: {
  readonly path: string
  /** The config that runs. */
  readonly config: BridgeConfig
  /** The `fileStampOf` the file when that config was read. */
  readonly stamp: string
  /** Reads and checks the whole file. Throws `BridgeError` of type `config`. */
  readonly load: () => BridgeConfig
  readonly setPeople: (people: PeopleConfig) => void
  readonly onNotice: (notice: string) => void
  readonly onError: (error: Error) => void
  readonly clock: Clock
}): ConfigWatch {
  const { path, config, load, setPeople, onNotice, onError, clock } = options
  let people = config.people
  let lastStamp = options.stamp
  /** The stamp of a file that could not be used. It is reported if it is unchanged at the next look. */
  let unusableStamp = ''
  /** The fields of the last notice about a restart. */
  let noticedFields = ''
  let stopTimer = (): void => {}
  let isStopped = false
  let reading = Promise.resolve()
  return {
    start: scheduleNextLook,
    readNow: async () => await readInTurn(true),
    onPeopleReplaced: (replaced) => {
      people = replaced
    },
    stop: () => {
      isStopped = true
      stopTimer()
    },
  }

  /** Reads the file after `lookMs` if it changed, and then schedules the next look. Does nothing after `stop`. */
  function scheduleNextLook(): void {
    if (!isStopped) stopTimer = clock.after(lookMs, () => void readInTurn(false).finally(scheduleNextLook))
  }

  /** Reads the file if it changed or the read is forced, after a read in progress. Never rejects: errors are reported. */
  async function readInTurn(isForced: boolean): Promise<void> {
    reading = reading.then(async () => await readIfChanged(isForced)).catch((error) => onError(toError(error)))
    await reading
  }

  /**
   * Reads the file if it changed or the read is forced, and applies it. Does nothing after `stop`. An unusable file is only
   * reported, and only then removes rights, if it is still the same at the next look or the read is forced.
   */
  async function readIfChanged(isForced: boolean): Promise<void> {
    const stamp = await fileStampOf(path)
    if (isStopped || (stamp === lastStamp && !isForced)) return
    try {
      const newConfig = load()
      lastStamp = stamp
      applyPeople(newConfig.people)
      noticeOtherChanges(newConfig)
    } catch (error) {
      // An editor may still be writing it.
      if (stamp === unusableStamp || isForced) {
        lastStamp = stamp
        keepCommonRights(error)
      }
      unusableStamp = stamp
    }
  }

  /**
   * Replaces the people, and tells the operator. Does nothing if they are the same. Leaves out ids on channels that need a
   * restart.
   */
  function applyPeople(newPeople: PeopleConfig): void {
    const next = peopleOn(Object.keys(config.channels), newPeople)
    if (isSameJson(next, people)) return
    setPeople(next)
    people = next
    const names = Object.keys(next).join(', ') || 'none'
    onNotice(`Reloaded the people and their rights from ${path}: ${names}.`)
  }

  /**
   * Reports that the file is invalid. If its people can be read, removes the rights that it no longer lists. Never grants a
   * right.
   */
  function keepCommonRights(error: unknown): void {
    const read = readPeople(path)
    const remaining = read && commonRights(people, read)
    const losesRights = remaining !== undefined && !isSameJson(remaining, people)
    if (losesRights) {
      setPeople(remaining)
      people = remaining
    }
    const what = losesRights
      ? 'Until you fix it, people keep only the rights that it still lists.'
      : 'Until you fix it, people and rights stay as they were.'
    onError(new BridgeError('config', `${messageOf(error)}\n${what}`, { cause: error }))
  }

  /**
   * Tells the operator which changed fields need a restart. Does nothing if there are none, or if the last notice named the
   * same ones.
   */
  function noticeOtherChanges(newConfig: BridgeConfig): void {
    const changed = restartFieldsOf(newConfig).filter((name) => !isSameJson(newConfig[name], config[name]))
    const names = changed.join(', ')
    if (names !== '' && names !== noticedFields)
      onNotice(`${path} has changes in ${names}. They take effect after a restart.`)
    noticedFields = names
  }
}

/**
 * Returns the people with only their ids on the channels that run, because new channels start only with a restart. Leaves out
 * people without such an id.
 */
function peopleOn(runningChannels: readonly string[], people: PeopleConfig): PeopleConfig {
  return Object.fromEntries(
    Object.entries(people).flatMap(([name, { ids, may }]) => {
      const here = ids.filter((id) => runningChannels.includes(id.slice(0, id.indexOf(':'))))
      return here.length > 0 ? [[name, { ids: here, may }]] : []
    }),
  )
}

/**
 * Returns the people and rights that remain while a changed config is invalid: those of `before` with only the ids that `after`
 * also has, and only the rights that it grants to all of these ids. Leaves out people without such an id.
 */
export function commonRights(before: PeopleConfig, after: PeopleConfig): PeopleConfig {
  const mayNow = new Map(Object.values(after).flatMap(({ ids, may }) => ids.map((id) => [id, may] as const)))
  return Object.fromEntries(
    Object.entries(before).flatMap(([name, { ids, may }]) => {
      const remaining = ids.filter((id) => mayNow.has(id))
      const common = may.filter((right) => remaining.every((id) => mayNow.get(id)?.includes(right)))
      return remaining.length > 0 ? [[name, { ids: remaining, may: common }]] : []
    }),
  )
}

/** Returns the names of all fields of a config except `people` and `$schema`. Their changes need a restart. */
function restartFieldsOf(config: BridgeConfig): readonly Exclude<keyof BridgeConfig, 'people' | '$schema'>[] {
  const { $schema: _, people: __, ...others } = config
  return Object.keys(others) as readonly (keyof typeof others)[]
}

/** Whether both are equal as JSON, with the fields in the same order. */
function isSameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
