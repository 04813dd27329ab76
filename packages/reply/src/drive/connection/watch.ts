import { observersOf } from '../../dispatch.ts'
import { ReplyError } from '../../error.ts'
import type { ReplyEvent, SnapshotEvent } from '../../event.ts'
import type { ReplyObserver } from '../../observer.ts'
import type { Reply } from '../../reply.ts'
import { type SessionRef, sessionRefOf } from '../../session-ref.ts'
import type { SessionInfo } from '../../source/port.ts'
import type { Drive } from '../drive.ts'
import type { Engine } from '../engine.ts'
import type { ReadRequest } from '../read-snapshot.ts'
import type { LiveReply } from '../replies.ts'
import { toReplyError } from '../session-reader.ts'
import type { FollowedSessions, Hold } from './following.ts'
import { createUnreadSessions, type UnreadHold } from './unread-sessions.ts'

/**
 * What to watch: one root session, a directory, or the whole server if you set neither. The server normalizes the
 * directory, so a trailing slash, `..` or a link makes no difference. Servers before 1.2 don't resolve links.
 */
export interface WatchTarget {
  /**
   * The id of a root session, `ses_…`. For a sub-agent's session, which has no replies of its own, `onError` is called.
   */
  readonly sessionID?: string | undefined
  /** All sessions of this directory. */
  readonly directory?: string | undefined
}

/** The options of `Client.watch`. */
export interface WatchOptions {
  /** Called once per reply. The observers that you return observe the reply to its end. */
  readonly observe: (reply: Reply) => readonly ReplyObserver[]
}

export interface Watching {
  /**
   * Gives observers to each reply of the target, open or new. While the connection is up, also reads what runs there.
   * Returns a function that removes the observers.
   */
  watch(target: WatchTarget, options: WatchOptions): () => void
  /**
   * Replaces the watched directories by the server's spelling of them, and observes the replies that waited for it.
   * Rejects if the server doesn't answer.
   */
  spellDirectories(): Promise<void>
  /**
   * Reads once what exists in the watched directories and in those with an open reply, so that it isn't reported as
   * new. Never rejects.
   */
  readBaseline(): Promise<void>
  /** Makes the next `readBaseline` read all directories again, because events were not followed for a while. */
  forgetBaseline(): void
  /** Reads the running sessions of watches that began after `listReads`. Called when the connection is up. */
  readNewWatches(): void
  /**
   * Resolves with the reads to make: of watched sessions that are running according to REST, or changed at `since` or
   * later. The caller reads them, so `readNewWatches` skips these watches.
   */
  listReads(since?: number): Promise<ReadList>
  /** Returns the events to apply now, in order. Keeps those of sessions that a new watch is about to read. */
  withoutUnread(events: readonly ReplyEvent[]): readonly ReplyEvent[]
  /** The time since which events were kept. Undefined if none are. As `UnreadSessions.heldSince`. */
  unreadSince(): number | undefined
  /** Returns the events that were kept, and keeps none. Called when a connection ends. */
  takeUnread(): readonly ReplyEvent[]
}

export interface ReadList {
  readonly requests: readonly ReadRequest[]
  /** Whether every directory could be read. */
  readonly isWhole: boolean
}

/** After this many new replies, a watch removes those that were dropped. */
const sweepEvery = 64

/** A target with its current state. */
interface Watch {
  /** Keeps the target followed. */
  readonly hold: Hold
  /** Whether the target was followed before. If not, what it ran until then isn't new. */
  readonly wasFollowed: boolean
  readonly target: WatchTarget
  /** In the server's spelling, or as given until that is known. */
  directory: string | undefined
  /** Whether `directory` is in the server's spelling. True without one. */
  isSpelled: boolean
  readonly observeIfTarget: (live: LiveReply, reply: Reply) => void
  /** Replies from a different spelling, until the server's is known. */
  undecided: LiveReply[]
  /** Whether it was reported that the session belongs to a sub-agent. */
  isReported: boolean
  /** Whether the sessions that were already running have been read. */
  isRead: boolean
}

/**
 * Creates an empty list of watches. They read over REST what the stream doesn't show of their targets. `home` is the
 * directory that the client was given, and `keepSettled` how many settled replies are kept for late events. `isLive`
 * tells whether the stream is up and missed events have been read. A watch of several sessions follows all of the
 * server's.
 */
export function createWatching(
  drive: Drive,
  home: string | undefined,
  keepSettled: number,
  isLive: () => boolean,
  following: FollowedSessions,
): Watching {
  const { engine, source, info, reader, onError } = drive
  const baseline = createBaseline(drive)
  const { readBaselineOf } = baseline
  /** Whether the baseline was read since it was forgotten. */
  let hasBaseline = false
  const watches = new Set<Watch>()
  let ownDirectory = home
  const openDirectories = createOpenDirectories(engine, () => ownDirectory, isLive)
  const unread = createUnreadSessions(engine)
  reader.onRead(reportSubAgent)
  return {
    watch,
    spellDirectories,
    readBaseline,
    forgetBaseline,
    readNewWatches,
    listReads,
    withoutUnread: unread.withoutHeld,
    unreadSince: unread.heldSince,
    takeUnread: unread.take,
  }

  /**
   * Reads the newest time of each watched or open directory that wasn't read yet, so that its content isn't reported as
   * new. Never rejects.
   */
  async function readBaseline(): Promise<void> {
    const targets = [...watches].flatMap(({ directory }) => directory ?? [])
    hasBaseline = true
    await Promise.all([...new Set([...openDirectories(), ...targets])].map(readBaselineOf))
  }

  /** Makes the next `readBaseline` read all directories again. */
  function forgetBaseline(): void {
    hasBaseline = false
    baseline.forget()
  }

  /**
   * Reports a watched session that belongs to a sub-agent, once per watch, because it has no replies of its own. Does
   * nothing for a root session.
   */
  function reportSubAgent({ sessionID, session: { parentID } }: SnapshotEvent): void {
    if (parentID === undefined) return
    for (const watched of watches) {
      if (watched.target.sessionID !== sessionID || watched.isReported) continue
      watched.isReported = true
      const message = `Session ${sessionID} belongs to a sub-agent and has no replies of its own. Watch the session that started it, ${parentID}.`
      onError(new ReplyError('invalid', message))
    }
  }

  /**
   * Observes each reply of the target, open or new. While the connection is up, also reads and applies the target's
   * running sessions. Returns a function that removes the observers.
   */
  function watch(target: WatchTarget, { observe }: WatchOptions): () => void {
    let stops: { readonly live: LiveReply; readonly stop: () => void }[] = []
    /** The next sweep happens at this number of replies, because each one looks at all of them. */
    let sweepAt = sweepEvery
    const { directory } = target
    const { sessionID } = target
    const wasFollowed = following.isEvery() || (sessionID !== undefined && following.includes(sessionID))
    const hold = following.hold(sessionID)
    const watched: Watch = {
      target,
      hold,
      wasFollowed,
      directory,
      isSpelled: directory === undefined,
      observeIfTarget: observeIfTarget,
      undecided: [],
      isReported: false,
      isRead: false,
    }
    watches.add(watched)
    for (const live of engine.replies.open()) observeIfTarget(live, live.reply())
    const stopOpened = engine.replies.onOpened(observeIfTarget)
    if (isLive()) void readRunning(watched)
    else if (sessionID === undefined) {
      if (!wasFollowed) forgetBaseline()
      hold.coverEvery()
    }
    return () => {
      watches.delete(watched)
      hold.release()
      stopOpened()
      for (const { stop } of stops) stop()
    }

    /**
     * Adds the watch's observers if the reply is in the target. While the directory's spelling isn't known, keeps a
     * reply of another directory in `undecided`. Now and then forgets the oldest settled replies above `keepSettled`.
     */
    function observeIfTarget(live: LiveReply, reply: Reply): void {
      if (target.sessionID !== undefined && target.sessionID !== reply.sessionID) return
      if (watched.directory !== undefined && watched.directory !== reply.directory) {
        if (!watched.isSpelled) watched.undecided.push(live)
        return
      }
      // Dropped replies need no stop.
      stops.push({ live, stop: live.observe(observersOf(observe, reply, onError)) })
      if (stops.length < sweepAt) return
      const settled = stops.filter((other) => other.live.reply().phase === 'settled')
      const gone = new Set(settled.slice(0, Math.max(0, settled.length - keepSettled)))
      stops = stops.filter((other) => !gone.has(other))
      sweepAt = stops.length + sweepEvery
    }
  }

  /**
   * Sets the server's spelling of the client's own and of all watched directories, and observes the replies that waited
   * for it. Rejects if the server doesn't answer.
   */
  async function spellDirectories(): Promise<void> {
    if (home !== undefined) ownDirectory = await source.spelled(home)
    await Promise.all([...watches].map(spellDirectoryOf))
  }

  /**
   * Sets the server's spelling of the watch's directory, and observes the replies that waited for it. Does nothing if
   * it is known, or the watch has no directory. Rejects if the server doesn't answer.
   */
  async function spellDirectoryOf(watched: Watch): Promise<void> {
    const { directory } = watched.target
    if (watched.isSpelled || directory === undefined) return
    watched.directory = await source.spelled(directory)
    watched.isSpelled = true
    for (const live of watched.undecided.splice(0))
      if (watches.has(watched)) watched.observeIfTarget(live, live.reply())
  }

  /**
   * Reads and applies the watch's session, or the running ones of its directory, except those with an open reply. Their
   * events are held back until then. Before that, follows all sessions for a watch of several. Reports errors instead of
   * rejecting.
   */
  async function readRunning(watched: Watch): Promise<void> {
    const { sessionID } = watched.target
    watched.isRead = true
    const unreadHold = unread.hold(sessionID)
    try {
      await spellDirectoryOf(watched)
      if (sessionID === undefined) await followEvery(watched)
      const { requests } = await listReadsOf(watched)
      const wanted = requests.filter((request) => !engine.openReply(request.sessionID))
      unreadHold.keepOnly(wanted.map((request) => request.sessionID))
      const reading = source.startReading()
      await Promise.all(
        wanted.map((request) => readUnread({ ...request, reading }, unreadHold, sessionID === undefined)),
      )
    } catch (error) {
      if (sessionID === undefined) watched.hold.coverEvery()
      else following.noteUnreadable(sessionID)
      onError(toReplyError(error))
    }
    unreadHold.releaseAll()
  }

  /**
   * Reads and applies a session, then the events that were held back. With `isListed`, it was listed as running. Reports
   * errors instead of rejecting.
   */
  async function readUnread(request: ReadRequest, unreadHold: UnreadHold, isListed: boolean): Promise<void> {
    const { sessionID } = request
    try {
      const read = await reader.read(request)
      // If it has ended since it was listed, an event will say so.
      engine.apply([isListed && read.status === 'idle' ? { ...read, status: 'busy' } : read])
    } catch (error) {
      following.noteUnreadable(sessionID)
      onError(toReplyError(error))
    }
    unreadHold.release(sessionID)
  }

  /**
   * Follows all sessions, for a watch of several. First reads what exists if they were not followed, because that isn't
   * new.
   */
  async function followEvery({ hold, directory }: Watch): Promise<void> {
    if (!following.isEvery() || !hasBaseline) {
      forgetBaseline()
      await readBaseline()
    }
    hold.coverEvery()
    if (directory !== undefined) await readBaselineOf(directory)
  }

  /** Reads the running sessions of all watches that were not read yet, in the background. */
  function readNewWatches(): void {
    for (const watched of watches) if (!watched.isRead) void readRunning(watched)
  }

  /**
   * Lists the reads to make for all watches, without making them, and marks the watches as read. `isWhole` is false if
   * a directory could not be listed.
   */
  async function listReads(since?: number): Promise<ReadList> {
    const listed = [...watches].map((watched) => {
      return { watched, since: watched.isRead || watched.wasFollowed ? since : undefined }
    })
    for (const { watched } of listed) watched.isRead = true
    const found = await Promise.all(listed.map(({ watched, since: from }) => listReadsOf(watched, from)))
    return { requests: found.flatMap(({ requests }) => requests), isWhole: found.every(({ isWhole }) => isWhole) }
  }

  /**
   * Lists the reads to make for one watch, without making them: its session, or the root sessions of its directories
   * that are running or changed at `since` or later. None if the server shows no state of sessions. Reports a directory
   * that can't be listed, and then `isWhole` is false.
   */
  async function listReadsOf({ target, directory }: Watch, since?: number): Promise<ReadList> {
    if (!info.current().canRead) return { requests: [], isWhole: true }
    if (target.sessionID !== undefined)
      return { requests: [{ ...engine.placeOf(target.sessionID), gap: true, since }], isWhole: true }
    let isWhole = true
    /** A directory that can't be read must not stop the others from being watched. */
    const reportUnlisted = (error: unknown): readonly SessionRef[] => {
      isWhole = false
      if (error instanceof ReplyError) onError(error)
      return []
    }
    const everywhere = directory === undefined && since !== undefined ? await placesEverywhere(since) : undefined
    const known = directory === undefined ? openDirectories() : [directory]
    const directories = new Set([...known, ...(everywhere ?? []).map((place) => place.directory)])
    const lists = await Promise.all(
      [...directories].flatMap((listedDirectory) => [
        placesAtWork(listedDirectory).catch(reportUnlisted),
        since === undefined || everywhere ? [] : placesSince(since, listedDirectory).catch(reportUnlisted),
      ]),
    )
    const found = new Map([...(everywhere ?? []), ...lists.flat()].map((place) => [place.sessionID, place])).values()
    const requests = [...found].map((place) => ({
      ...place,
      reply: engine.openReply(place.sessionID),
      gap: true,
      since,
    }))
    return { requests, isWhole }
  }

  /**
   * The root sessions of any directory that changed at `since` or later. Undefined if the server can't list them, or
   * the call fails.
   */
  async function placesEverywhere(since: number): Promise<readonly SessionRef[] | undefined> {
    if (!info.current().listsEverywhere) return undefined
    const sessions = await source.sessions({ since, everywhere: true }).catch(() => undefined)
    return sessions && rootsChangedSince(sessions, since)
  }

  /** The root sessions of a directory that changed at `since` or later. Rejects if they can't be listed. */
  async function placesSince(since: number, directory: string | undefined): Promise<readonly SessionRef[]> {
    return rootsChangedSince(await source.sessions({ since, directory }), since)
  }

  /** The sessions of a directory that are running according to REST. Rejects if they can't be listed. */
  async function placesAtWork(directory: string | undefined): Promise<readonly SessionRef[]> {
    return [...(await source.working(directory)).keys()].map((sessionID) => ({ sessionID, directory }))
  }
}

/**
 * The root sessions that changed at `since` or later. One without a time counts as changed. Sub-agents are read with
 * their roots.
 */
function rootsChangedSince(sessions: readonly SessionInfo[], since: number): readonly SessionRef[] {
  return sessions
    .filter(({ parentID, updatedAt = since }) => parentID === undefined && updatedAt >= since)
    .map(sessionRefOf)
}

/**
 * Returns a function that lists the directories to read after a gap: the connection's own (`home`, in the server's
 * spelling once that is known), and those with an open reply. While the connection is down, a directory stays when its
 * replies end. A reply without a directory counts as in `home`.
 */
export function createOpenDirectories(
  engine: Engine,
  home: () => string | undefined,
  isLive: () => boolean,
): () => readonly (string | undefined)[] {
  const busy = new Set<string | undefined>()
  engine.onSessionChanged((sessionID) => {
    const directory = engine.newestReply(sessionID)?.directory
    if (engine.openReply(sessionID)) busy.add(directory)
    // While the stream is down, replies end by timeout but may continue on the server.
    else if (isLive() && !engine.openReplies().some((reply) => reply.directory === directory)) busy.delete(directory)
  })
  return () => [...new Set([home(), ...[...busy].map((directory) => directory ?? home())])]
}

interface Baseline {
  /**
   * Reads a directory once before its sessions are watched, so that existing content isn't reported as new. Never
   * rejects.
   */
  readBaselineOf(directory: string | undefined): Promise<void>
  /** Makes the next call read each directory again. */
  forget(): void
}

/**
 * Creates the reads of the newest time of a directory's sessions, which is applied as `listening`, so that what exists
 * isn't reported as new. Does nothing for a directory that was read, or has no such time. Reports a `ReplyError` other
 * than `unreachable`, and reads again at the next call after any failure.
 */
function createBaseline({ engine, source, clock, onError }: Drive): Baseline {
  const readDirectories = new Set<string | undefined>()
  return { readBaselineOf, forget: () => readDirectories.clear() }

  /** Reads a directory that was not read yet. */
  async function readBaselineOf(directory: string | undefined): Promise<void> {
    if (readDirectories.has(directory)) return
    try {
      const from = await source.newestTime(directory)
      readDirectories.add(directory)
      if (from !== undefined) engine.apply([{ type: 'listening', from, at: clock.now() }])
    } catch (error) {
      // The resync reports a server that doesn't answer.
      if (error instanceof ReplyError && error.type !== 'unreachable') onError(error)
    }
  }
}
