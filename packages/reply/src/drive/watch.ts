import { toReadSessions, toReadStatuses } from '../decode/rest.ts'
import { type OnError, ReplyError } from '../error.ts'
import type { SnapshotEvent } from '../event.ts'
import type { ReplyObserver } from '../observer.ts'
import type { Place } from '../place.ts'
import type { Reply } from '../reply.ts'
import type { Engine } from './engine.ts'
import { observersOf } from './observers.ts'
import type { ReadRequest } from './read.ts'
import type { LiveReply } from './replies.ts'
import type { Rest } from './rest.ts'

/** What to watch: one root session, all of a directory, or with neither the whole server. */
export interface WatchTarget {
  readonly sessionID?: string | undefined
  readonly directory?: string | undefined
}

export interface WatchOptions {
  /** Asked once for each reply; what it gives back observes that reply to its end. */
  readonly observe: (reply: Reply) => readonly ReplyObserver[]
}

export interface Watching {
  watch(target: WatchTarget, options: WatchOptions): () => void
  /** Where the sessions that somebody watches are, as far as it is known. */
  directories(): readonly (string | undefined)[]
  /** A session was read: whoever watches it by its id and cannot be told anything hears of that. */
  note(snapshot: SnapshotEvent): void
  /** The sessions that somebody watches and that are at work, or were since then, as REST tells of them. */
  atWork(since?: number): Promise<AtWork>
}

export interface AtWork {
  readonly requests: readonly ReadRequest[]
  /** Every directory could be asked. */
  readonly isWhole: boolean
}

export interface WatchingOptions {
  readonly engine: Engine
  readonly rest: Rest
  readonly read: (request: ReadRequest) => Promise<SnapshotEvent>
  readonly onError: OnError
  readonly directory?: string | undefined
  /** So many settled replies are kept for late news. */
  readonly keepSettled: number
  readonly listen: (directory: string | undefined) => Promise<void>
  /** The stream is up, and what was missed before has been read. */
  readonly isLive: () => boolean
}

export function createWatching(options: WatchingOptions): Watching {
  const { engine, rest, onError } = options
  const targets = new Set<WatchTarget>()
  const told = new WeakSet<WatchTarget>()
  /** Where sessions were seen at work: the server tells its statuses one directory at a time. */
  const directories = new Set<string | undefined>([options.directory])
  engine.onTurned((sessionID) => directories.add(engine.openReply(sessionID)?.directory ?? options.directory))
  return { watch, directories: () => [...directories], note, atWork }

  function note({ sessionID, session: { parentID } }: SnapshotEvent): void {
    if (parentID === undefined) return
    for (const target of targets) {
      if (target.sessionID !== sessionID || told.has(target)) continue
      told.add(target)
      const words = `Session ${sessionID} is a sub-agent's and has no replies of its own; watch the one that started it, ${parentID}.`
      onError(new ReplyError('invalid', words))
    }
  }

  function watch(target: WatchTarget, { observe }: WatchOptions): () => void {
    let stops: readonly { readonly live: LiveReply; readonly stop: () => void }[] = []
    const take = (live: LiveReply, reply: Reply): void => {
      if (!isWanted(target, reply)) return
      // Those whose replies are forgotten by now have nothing left to stop.
      const mine = [...stops, { live, stop: live.observe(observersOf(observe, reply, onError)) }]
      const settled = mine.filter((other) => other.live.reply().phase === 'settled')
      const gone = new Set(settled.slice(0, Math.max(0, settled.length - options.keepSettled)))
      stops = gone.size === 0 ? mine : mine.filter((other) => !gone.has(other))
    }
    for (const live of engine.replies.open()) take(live, live.reply())
    const stopOpened = engine.replies.onOpened(take)
    targets.add(target)
    if (target.directory !== undefined) directories.add(target.directory)
    if (options.isLive()) void attach(target)
    return () => {
      targets.delete(target)
      stopOpened()
      for (const { stop } of stops) stop()
    }
  }

  /** The sessions that were at work before anybody watched. */
  async function attach(target: WatchTarget): Promise<void> {
    try {
      if (target.directory !== undefined) await options.listen(target.directory)
      for (const request of (await working(target)).requests) {
        if (!engine.openReply(request.sessionID)) engine.apply([await options.read(request)])
      }
    } catch (error) {
      onError(
        error instanceof ReplyError
          ? error
          : new ReplyError('unreachable', 'The sessions at work could not be read.', { cause: error }),
      )
    }
  }

  async function atWork(since?: number): Promise<AtWork> {
    const found = await Promise.all([...targets].map((target) => working(target, since)))
    return { requests: found.flatMap(({ requests }) => requests), isWhole: found.every(({ isWhole }) => isWhole) }
  }

  async function working(target: WatchTarget, since?: number): Promise<AtWork> {
    const asked = target.directory === undefined ? [...directories] : [target.directory]
    if (target.sessionID !== undefined)
      return { requests: [{ ...engine.place(target.sessionID), gap: true, since }], isWhole: true }
    let isWhole = true
    /** A directory that cannot be asked leaves the others to be watched. */
    const complain = (error: unknown): readonly Place[] => {
      isWhole = false
      if (error instanceof ReplyError) onError(error)
      return []
    }
    const lists = await Promise.all(
      asked.flatMap((directory) => [
        placesAtWork(directory).catch(complain),
        since === undefined ? [] : placesSince(since, directory).catch(complain),
      ]),
    )
    const places = new Map(lists.flat().map((place) => [place.sessionID, place])).values()
    const requests = [...places].map((place) => ({
      ...place,
      reply: engine.openReply(place.sessionID),
      gap: true,
      since,
    }))
    return { requests, isWhole }
  }

  /** What has come and gone since then. Sub-agents are read with their roots; older servers list every session. */
  async function placesSince(since: number, directory: string | undefined): Promise<readonly Place[]> {
    const sessions = toReadSessions(await rest.sessions(since, directory))
    return sessions
      .filter(({ parentID, updatedAt = since }) => parentID === undefined && updatedAt >= since)
      .map((session) => ({ sessionID: session.id, directory: session.directory ?? directory }))
  }

  async function placesAtWork(directory: string | undefined): Promise<readonly Place[]> {
    return [...toReadStatuses(await rest.status(directory)).keys()].map((sessionID) => ({ sessionID, directory }))
  }
}

function isWanted(target: WatchTarget, reply: Reply): boolean {
  if (target.sessionID !== undefined && target.sessionID !== reply.sessionID) return false
  return target.directory === undefined || target.directory === reply.directory
}
