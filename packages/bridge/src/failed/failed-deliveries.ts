import { type Clock, type Reply, ReplyError, type ReplyFile, textOf } from '@reply/core'
import { type Delivery, type MessageRef, texts as sinkTexts, type Undelivered } from '@reply/sink'
import { FileRefusal } from '@reply/sink/channel'
import { backOffMs, captionOf, filesLeftNote, filesWithKeys, mostFiles, nameOfFile } from '@reply/sink/internal'
import type { Channels, ChatMessage } from '../chats/channels.ts'
import { isRefusal, refusedMs } from '../chats/channels.ts'
import { BridgeError, isTakenOver, messageOf, toError } from '../error.ts'
import type { FailuresEvent } from '../events/event.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import type { FileReaders } from '../servers/file-readers.ts'
import type { FailedDelivery, Failure, UnreadableRow } from '../state/decode.ts'
import type { Execution } from '../state/execution.ts'
import type { Registry } from '../state/registry.ts'
import { readWithExpiry, type State } from '../state/state.ts'
import { isTried } from '../state/tried.ts'
import type { Write } from '../store/store.ts'
import { plain, texts } from '../texts.ts'
import {
  deliveriesPrefix,
  failedPrefix,
  failureKey,
  failuresIn,
  runAgainButtons,
  unknownPrefix,
  unknownRunKey,
  writeFailure,
} from './failure-rows.ts'
import type { Tries } from './tries.ts'

/** Answers that their chat may not show. They are stored, reported in the chat once it responds, and posted again on demand. */
export interface FailedDeliveries {
  /** Returns a failed delivery for each place that misses a part of the answer or its ending. */
  findMissing(execution: Execution, reply: Reply, delivered: readonly Delivered[]): readonly FailedDelivery[]
  /** Creates a failed delivery for a text that ends a run without an answer. It stays one until `postPending` posted it. */
  pendingFor(execution: Pick<Execution, 'id' | 'prompt' | 'server' | 'sessionID'>, text: string): FailedDelivery
  /** Returns the writes that store failed deliveries. Call `reportAll` after they are committed. */
  write(failed: readonly FailedDelivery[]): readonly Write[]
  /**
   * Posts a pending text. Call it after the writes of `write` are committed. `onPosted` must commit the writes that it gets,
   * which remove the failed delivery. If the post fails, the delivery stays stored. Rejects if the bridge stops
   * meanwhile: the next process then reports it.
   */
  postPending(
    pending: FailedDelivery,
    note: Omit<ChatMessage, 'text'>,
    onPosted: (writes: readonly Write[]) => Promise<void>,
  ): Promise<void>
  /** Posts a pending text as a reply to a message, and commits `more` with the removal. Never rejects. */
  replyPending(pending: FailedDelivery, replyTo: MessageRef, more?: readonly Write[]): Promise<void>
  /** Reports failed deliveries to `onError`, and in each chat as soon as it responds. Does not wait for that. */
  reportAll(failed: readonly FailedDelivery[]): void
  /** Call it when an unreadable row was put aside. If the row was a queued message, its chat learns that it was not run. */
  onRowPutAside(row: UnreadableRow): void
  /** Call it when a person wrote in a place: its platform responds, so the report is retried now. */
  onPlaceActive(place: ChatPlace): void
  /** Posts the failed answers of a place again, oldest first. Resolves with how many. Rejects at the first post that fails. */
  resend(place: ChatPlace): Promise<number>
  /**
   * Reports what an earlier process could not report, each place once the store has that this process tries it. Gives up where
   * that ended the process each time.
   */
  restoreReports(tries: Pick<Tries, 'next' | 'make'>): Promise<void>
  /** Counts the failures, and calls `onCounts` if the counts changed. */
  emitCounts(): Promise<void>
  /** Stops all reports. The next process continues them. */
  stop(): void
  /** Resolves when no pending text is being posted: each is then stored as posted or as failed. */
  idle(): Promise<void>
}

/** How many failures need a person, by their type. */
export type FailureCounts = Omit<FailuresEvent, 'type' | 'at'>

/** The result of a sink in a place. */
export interface Delivered {
  readonly place: ChatPlace
  readonly delivery: Delivery
}

/** Keeps failed deliveries in the state, and reports them in the background until `stop`. */
export function createFailedDeliveries(options: {
  readonly state: State
  readonly registry: Registry
  readonly channels: Channels
  readonly fileReaders: FileReaders
  /** As in `ChatMigrations`. */
  readonly withFirstID: (place: ChatPlace) => ChatPlace
  readonly clock: Clock
  /** Called with the numbers of failures when they changed. */
  readonly onCounts: (counts: FailureCounts) => void
  readonly onError: (error: Error) => void
}): FailedDeliveries {
  const { state, registry, channels, fileReaders, withFirstID, clock, onCounts, onError } = options
  /** By the first key of a place: ends the pause before the next attempt to report. */
  const reporting = new Map<string, () => void>()
  /** The first keys of places with failures that a report in progress may not know. */
  const requested = new Set<string>()
  /** Keys of texts that are being posted, so they have not failed yet. */
  const posting = new Set<string>()
  /** The posts of pending texts that are in progress. */
  const posts = new Set<Promise<void>>()
  let lastCounts = ''
  let isStopped = false
  return {
    findMissing,
    pendingFor,
    postPending,
    replyPending,
    write: (failed) => failed.map(writeFailure),
    reportAll,
    onRowPutAside,
    onPlaceActive: (place) => reporting.get(placeKey(withFirstID(place)))?.(),
    resend,
    restoreReports,
    emitCounts,
    stop,
    idle: async () => void (await Promise.allSettled(posts)),
  }

  /**
   * Returns one failed delivery for each place that lacks a part of the answer, its ending or a file that may arrive if it is posted
   * again, with the whole answer and the reason of the end, and the files. Ignores missing status messages, and a run that has neither text nor reason.
   */
  function findMissing(
    ...[execution, reply, delivered]: Parameters<FailedDeliveries['findMissing']>
  ): readonly FailedDelivery[] {
    const { id, server, sessionID, reason: ending = '' } = execution
    const { directory } = reply
    const whole = [textOf(reply), ending].filter((one) => one.trim() !== '').join('\n\n')
    return delivered.flatMap(({ place: { channel, chat }, delivery }): readonly FailedDelivery[] => {
      const { undelivered } = delivery
      const lostTexts = whole === '' ? [] : undelivered.filter(({ card }) => card === 'answer' || card === 'ending')
      const posts = undelivered.filter(isWorthResending)
      const files = posts.flatMap((one) => filesWithKeys(reply, one.files ?? [])).map(stored)
      const missing = [...lostTexts, ...posts]
      const [first] = missing
      if (!first) return []
      const why = { missing: missing.length, reason: first.reason, at: clock.now() }
      const text = lostTexts.length > 0 ? whole : ''
      const lost = files.length > 0 && { files, directory }
      return [{ type: 'delivery', id, channel, chat, server, sessionID, text, ...lost, ...why }]
    })
  }

  /** Returns a failed delivery for a text that is about to be posted. Nothing is stored: commit `write` of it. */
  function pendingFor(
    { id, prompt, server, sessionID }: Parameters<FailedDeliveries['pendingFor']>[0],
    text: string,
  ): FailedDelivery {
    const { channel, chat } = prompt
    const why = { missing: 1, reason: 'The bridge stopped before the chat confirmed it.', at: clock.now() }
    return { type: 'delivery', id, channel, chat, server, sessionID, text, ...why }
  }

  /**
   * Posts a pending text, then calls `onPosted` with the write that removes it. A failed post is stored and reported. Rejects
   * if the bridge is stopping or was taken over, or as `onPosted` does. Until it is posted, it does not count as failed.
   */
  async function postPending(...given: Parameters<FailedDeliveries['postPending']>): Promise<void> {
    const post = postAndStore(...given)
    posts.add(post)
    await post.finally(() => posts.delete(post))
  }

  /** Does what `postPending` does. */
  async function postAndStore(
    ...[pending, note, onPosted]: Parameters<FailedDeliveries['postPending']>
  ): Promise<void> {
    const key = failureKey(pending)
    posting.add(key)
    try {
      await channels.post(pending, { ...note, text: pending.text }, sessionOf(pending))
    } catch (cause) {
      if (isTakenOver(cause) || isStopped) throw cause
      const unposted = { ...pending, reason: messageOf(cause) }
      await state.withRetries(() => state.commit([writeFailure(unposted)]))
      posting.delete(key)
      return reportAll([unposted])
    }
    await onPosted([{ type: 'remove', key }])
    posting.delete(key)
  }

  /**
   * Posts a pending text as a reply, then removes it from the store and commits `more`. Errors go to `onError`, except while
   * the bridge is stopping or was taken over.
   */
  async function replyPending(
    ...[pending, replyTo, more = []]: Parameters<FailedDeliveries['replyPending']>
  ): Promise<void> {
    try {
      // The run may have been started elsewhere, and then no message of the chat began it.
      const options = replyTo.id === '' ? {} : { replyTo }
      await postPending(pending, options, async (writes) => {
        await state.withRetries(() => state.commit([...writes, ...more]))
      })
    } catch (error) {
      if (!isStopped && !isTakenOver(error)) onError(toError(error))
    }
  }

  /** Reports each to `onError`, and in its chat in the background. Emits the new counts unless there are none to report. */
  function reportAll(failed: readonly FailedDelivery[]): void {
    for (const one of failed) {
      const what = `The answer of run ${one.id} may be missing in ${one.channel}:${one.chat.id}: ${one.reason}`
      onError(
        new BridgeError('delivery', `${what} "reply bridge failed" lists it, and /resend in that chat posts it again.`),
      )
      void reportUntilAccepted(one)
    }
    if (failed.length > 0) void emitCounts().catch(onError)
  }

  /** Returns the failed deliveries whose keys begin with a prefix, without texts that are still being posted. */
  async function failedIn(prefix: string): Promise<readonly FailedDelivery[]> {
    const all = failuresIn(await state.list(prefix))
    return all.flatMap((one) => (one.type === 'delivery' && !posting.has(failureKey(one)) ? [one] : []))
  }

  /**
   * Returns the failed deliveries of a place, including those from before its chat got another id, which come first. Retries
   * while the store fails.
   */
  async function failedAt(place: ChatPlace): Promise<readonly FailedDelivery[]> {
    const prefixes = new Set([withFirstID(place), place].map(deliveriesPrefix))
    const all: FailedDelivery[] = []
    for (const prefix of prefixes) all.push(...(await state.withRetries(() => failedIn(prefix))))
    return all
  }

  /** Emits the new counts. Posts a notice in the chat if the row was an entry of its queue and the channel exists. */
  function onRowPutAside({ key, id }: UnreadableRow): void {
    void emitCounts().catch(onError)
    const place = id === undefined ? undefined : placeIn(key)
    if (place && channels.has(place.channel)) void channels.tryPost(place, { text: texts.unreadable })
  }

  /**
   * Tells a chat which answers may be missing, and stores that it knows. Retries until the chat accepts the report, because the
   * cause of the failure may last. Ends if no answer is left to report, if the channel no longer exists, or if the bridge
   * stops. While a report of the place is in progress, only makes that one look for new failures before it ends. Never rejects.
   */
  async function reportUntilAccepted(place: ChatPlace): Promise<void> {
    const key = placeKey(withFirstID(place))
    // The report in progress checks for new failures before it ends.
    const isReporting = reporting.has(key)
    requested.add(key)
    if (isReporting) return
    reporting.set(key, () => {})
    try {
      let failures = 0
      while (!isStopped && channels.has(place.channel)) {
        requested.delete(key)
        const failed = (await failedAt(place)).filter(({ isReported }) => !isReported)
        const [first] = failed
        if (!first && requested.has(key)) continue
        if (!first) return
        try {
          await channels.post(place, { text: texts.undelivered(failed.map(({ id }) => id)) }, sessionOf(first))
          for (const one of failed) await changeStored(one, { isReported: true })
          failures = 0
        } catch (error) {
          if (isTakenOver(error)) return
          if (failures === 0) onError(toError(error))
          // The process did not end, so this was not a try in vain.
          for (const one of failed) if (isTried(one)) await changeStored(one, { tries: undefined })
          await pauseReport(key, isRefusal(error) ? refusedMs : backOffMs(failures++))
        }
      }
    } catch (error) {
      onError(toError(error))
    } finally {
      reporting.delete(key)
    }
  }

  /**
   * Changes a stored failure, which still expires when it did. Does nothing if someone had the answer posted meanwhile. Retries
   * while the store fails, because a chat that is told must not be told again.
   */
  async function changeStored(failed: FailedDelivery, change: Partial<FailedDelivery>): Promise<void> {
    await state.withRetries(async () => await state.commit(await writeChange(failed, change)))
  }

  /**
   * Resolves with the write that changes a stored failure, which still expires when it did. It conflicts if the failure changes
   * meanwhile. Empty if someone had the answer posted.
   */
  async function writeChange(failed: FailedDelivery, change: Partial<FailedDelivery>): Promise<readonly Write[]> {
    const key = failureKey(failed)
    const stored = await readWithExpiry(state, key)
    if (!stored) return []
    const { value: expected, expiresInMs } = stored
    const { value } = writeFailure({ ...failed, ...change })
    return [{ type: 'compare-and-set', key, expected, value, expiresInMs }]
  }

  /**
   * Waits before the next attempt to report in the place with this key. Ends early when a person writes there or the bridge
   * stops: both call the entry of `reporting`.
   */
  function pauseReport(key: string, delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stopTimer = clock.after(delayMs, resolve)
      reporting.set(key, () => {
        stopTimer()
        resolve()
      })
    })
  }

  /**
   * Posts the failed answers of a place again, and resolves with how many there were. Removes each once it is posted, and its
   * run is then `done`. Rejects at the first post that fails, and keeps that answer and the later ones.
   */
  async function resend(place: ChatPlace): Promise<number> {
    const failed = await failedAt(place)
    for (const one of failed) {
      // The text may be the question whether to run the prompt again.
      const unknown = await state.withRetries(() => state.read(unknownRunKey(one, one.id)))
      const buttons = unknown === undefined ? undefined : runAgainButtons(one.id)
      await channels.post(place, { text: `${texts.resent(one.id)}\n\n${one.text}`.trim(), buttons }, sessionOf(one))
      const { files = [] } = one
      for (const file of files.slice(0, mostFiles)) await resendFile(place, one, file)
      const left = files.slice(mostFiles).map(nameOfFile)
      // A reply may have hundreds, and their names may be long.
      const text = filesLeftNote(left, Math.min(left.length, mostFiles), sinkTexts)
      if (left.length > 0) await channels.post(place, { text }, sessionOf(one))
      // It is posted. A failing store must not cause a second post.
      await state.withRetries(async () => {
        const execution = await registry.findRecent(place, one.id)
        const done =
          execution?.phase === 'undelivered'
            ? [
                registry.writeExecution({ ...execution, phase: 'done' }),
                ...(await registry.writesAtEnd({ ...execution, phase: 'done' })),
              ]
            : []
        await state.commit([{ type: 'remove', key: failureKey(one) }, ...done])
      })
    }
    if (failed.length > 0) void emitCounts().catch(onError)
    return failed.length
  }

  /** Reads a file again and posts it. If it can't be read, was not stored, or the platform refuses it, a message names it instead. */
  async function resendFile(place: ChatPlace, failed: FailedDelivery, file: ReplyFile): Promise<void> {
    const { server, sessionID = '', directory } = failed
    const { signal } = new AbortController()
    try {
      if (file.url === '') throw new FileRefusal('refused', texts.fileNotKept(plain(nameOfFile(file))))
      const bytes = await fileReaders(server)(file, { sessionID, directory, maxBytes: mostFileBytes, signal })
      const named = { name: nameOfFile(file), mime: file.mime, bytes }
      await channels.post(place, { text: captionOf(file), file: named }, sessionOf(failed))
    } catch (error) {
      if (!(error instanceof FileRefusal || error instanceof ReplyError)) throw error
      await channels.post(place, { text: plain(`📎 ${error.message}`) }, sessionOf(failed))
    }
  }

  /** Starts one report in the background for each place with unreported answers, and emits the counts. */
  async function restoreReports(tries: Pick<Tries, 'next' | 'make'>): Promise<void> {
    const left = (await failedIn(`${failedPrefix}delivery/`)).filter(({ isReported }) => !isReported)
    for (const one of new Map(left.map((failed) => [placeKey(withFirstID(failed)), failed])).values())
      void reportAgain(one, tries).catch(onError)
    await emitCounts()
  }

  /**
   * Reports in a place once the store has that this process tries it. If that ended the process each time, stores that the chat
   * is not told, and reports that to `onError`.
   */
  async function reportAgain(place: ChatPlace, tries: Pick<Tries, 'next' | 'make'>): Promise<void> {
    const key = deliveriesPrefix(withFirstID(place))
    const due = (await failedAt(place)).filter(({ isReported }) => !isReported)
    const counted = tries.next(key, { tries: Math.max(1, ...due.map((one) => one.tries ?? 1)) })
    const change: Partial<FailedDelivery> = counted ?? { isReported: true, isUntold: true }
    const writes = (await Promise.all(due.map(async (one) => await writeChange(one, change)))).flat()
    if (!counted) {
      await state.withRetries(() => state.commit(writes))
      const ids = due.map(({ id }) => id).join(', ')
      const problem = `The process ended each time it told ${place.channel}:${place.chat.id} about runs ${ids}`
      return onError(new BridgeError('delivery', `${problem}, so it no longer does. "reply bridge failed" lists them.`))
    }
    let isBegun = false
    await tries.make(key, writes, async () => {
      isBegun = true
      await reportUntilAccepted(place)
    })
    // Someone had one of the answers posted meanwhile.
    if (!isBegun) await reportUntilAccepted(place)
  }

  /**
   * Passes on the numbers of failures by type, for logs and metrics, unless they did not change. Texts that are being posted
   * don't count.
   */
  async function emitCounts(): Promise<void> {
    const failures = failuresIn(await state.list(failedPrefix)).filter((one) => !posting.has(failureKey(one)))
    const countOf = (type: Failure['type']): number => failures.filter((one) => one.type === type).length
    const [deliveries, rows, poison] = [countOf('delivery'), countOf('row'), countOf('poison')]
    const prompts = (await state.list(unknownPrefix)).length
    const counts = [deliveries, prompts, rows, poison].join()
    if (counts === lastCounts) return
    lastCounts = counts
    onCounts({ deliveries, prompts, rows, poison })
  }

  /** Ends all reports, by waking those that pause. */
  function stop(): void {
    isStopped = true
    for (const end of reporting.values()) end()
  }
}

/** The largest file that is posted again, in bytes. A platform may take less. */
const mostFileBytes = 50_000_000

/**
 * Whether files are missing that may arrive if they are posted again, or that the chat may not even name. It shows why others
 * can't be sent.
 */
function isWorthResending({ card, type }: Undelivered): boolean {
  return card === 'attachment' && (type === 'ambiguous' || type === 'given-up')
}

/** The longest address that is stored of a file, in UTF-16 units. It may be the content itself: about 700 kB of it. */
const longestAddress = 1_000_000

/** The longest address of a file that is only named, in UTF-16 units. It may have the name. */
const longestNaming = 2000

/** Returns what is stored of the file at a position. Those from `mostFiles` on are only named. */
function stored(
  { id, mime, url, filename, caption }: ReplyFile,
  at: number,
): NonNullable<FailedDelivery['files']>[number] {
  const longest = at < mostFiles ? longestAddress : longestNaming
  return { id, mime, url: url.length > longest ? '' : url, filename, caption }
}

/** Returns the place of a queue, whose name ends with its `placeKey`. Undefined if the key is not that of a queue. */
function placeIn(queue: string): ChatPlace | undefined {
  const [, channel, id, thread] = queue.split('/').map(decodeURIComponent)
  if (channel === undefined || id === undefined) return undefined
  return { channel, chat: { id, ...(thread !== undefined && thread !== '' && { thread }) } }
}

/** Returns the session of a failed delivery. Undefined if its run ended before it had one. */
function sessionOf({ server, sessionID }: FailedDelivery): { server: string; sessionID: string } | undefined {
  return sessionID === undefined ? undefined : { server, sessionID }
}
