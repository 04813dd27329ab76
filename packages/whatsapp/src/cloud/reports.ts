import type { Clock } from '@reply/core'
import { pause } from '@reply/core/internal'
import type { MessageRef } from '@reply/sink'
import type { PostReport, PostReports } from '@reply/sink/channel'
import { createRecent } from '@reply/sink/internal'
import { CloudError, toCloudPortError, windowCode } from '../error.ts'
import type { CloudClient } from './api.ts'

/** The status of a message, from a webhook. */
export interface CloudStatus {
  readonly ref: MessageRef
  /** The `biz_opaque_callback_data` that the message was posted with. Absent for messages without it. */
  readonly key?: string | undefined
  /** Ids of the person that it was written to. */
  readonly people: readonly string[]
  /** Why it was not delivered. Absent if it was sent, delivered or read. */
  readonly failure?: { readonly code: number; readonly text: string } | undefined
  /**
   * Set if it was sent and not delivered yet. Such a message may still fail, for example with 131026:
   * https://docs.ycloud.com/reference/whatsapp-message-updated-webhook-examples
   */
  readonly isSentOnly?: true | undefined
}

/**
 * Delivery reports of a number's messages, from its webhooks, and which chats are closed: WhatsApp only accepts messages
 * for a person within 24 h of their last one.
 */
interface CloudReports {
  /** Call it once a channel receives the number's webhooks, with the time in ms since the epoch. */
  startListening(at: number): void
  /** Whether a channel receives the webhooks. Without one, nothing would report that a chat is open again. */
  isListening(): boolean
  /** Whether `recordStatus` would change what is known of a post or a chat. */
  isNews(status: CloudStatus): boolean
  /** Records a status, and closes the chat if it failed because of the 24 h. */
  recordStatus(status: CloudStatus): void
  /** Calls the listener with each message that a status first says to have failed, also those that this process did not post. */
  observeFailures(listener: (status: CloudStatus) => void): void
  /** Opens a chat: the person wrote at that time, in ms since the epoch, less than 24 h ago. */
  openChat(person: string, at: number): void
  /**
   * Closes a chat, because a message was refused. `sentAt` is when it was sent, in ms since the epoch, or 0 if unknown.
   * Does nothing if the person wrote later.
   */
  closeChat(person: string, sentAt: number): void
  /** The reports about one person's chat, for its port. */
  forChat(person: string): PostReports
  /** Records that this process posted with that key, was allowed to until the end, and got no answer. */
  recordUnanswered(key: string): void
  /**
   * Resolves with the first message posted with that key, as soon as a status names it. After 10 s resolves with `silent`
   * if other statuses have arrived, a channel has listened since before the post, which was tried at `since`, and the post is
   * recorded as unanswered. Otherwise resolves with `unknown`, also on an abort or if nothing listens: the status of another
   * process's post may have gone to that process when it was killed or suspended.
   */
  waitForPost(key: string, since: number, clock: Clock, signal: AbortSignal): Promise<MessageRef | 'silent' | 'unknown'>
}

/** Whether a chat is closed, and when the person last wrote, in ms since the epoch. 0 if that is unknown. */
interface ChatWindow {
  readonly isClosed: boolean
  readonly since: number
}

/** How many posts to keep the reports of. The oldest are dropped. */
const mostPosts = 1000

/** How many people to keep as out of reach. The next message to a dropped one fails again. */
const mostPeople = 10_000

/**
 * How long to wait for a message's statuses, in ms. Meta documents no time. They usually arrive within a second or two, and a failure
 * within ten: https://github.com/Jaal-Yantra-Textiles/v2/pull/800
 */
const statusMs = 10_000

const reportsByClient = new WeakMap<CloudClient, CloudReports>()

/** Returns the reports of a client's number. The first call creates them, and all users of the client share them. */
export function sharedReports(client: CloudClient): CloudReports {
  const reports = reportsByClient.get(client) ?? createReports()
  reportsByClient.set(client, reports)
  return reports
}

/** Creates the record of what webhooks report: which posts arrived, and which chats are open. */
function createReports(): CloudReports {
  /** By key, then by the message's id, because several tries of one post may each make a message. */
  const posts = createRecent<ReadonlyMap<string, PostReport>>(mostPosts)
  const unanswered = createRecent<true>(mostPosts)
  const windows = createRecent<ChatWindow>(mostPeople)
  const listeners = new Set<() => void>()
  const failureListeners = new Set<(status: CloudStatus) => void>()
  /** Since when a channel has listened, in ms since the epoch. */
  let listeningSince = Number.POSITIVE_INFINITY
  let hasStatuses = false
  return {
    startListening: (at) => {
      listeningSince = Math.min(listeningSince, at)
    },
    isListening,
    isNews: (status) => status.failure?.code === windowCode || changesPost(status),
    recordStatus,
    observeFailures: (listener) => void failureListeners.add(listener),
    openChat: (person, at) => setWindow(person, { isClosed: false, since: at }),
    closeChat,
    forChat,
    recordUnanswered: (key) => unanswered.set(key, true),
    waitForPost,
  }

  function isListening(): boolean {
    return listeningSince < Number.POSITIVE_INFINITY
  }

  /**
   * Records what became of a post, and notifies the listeners. A failure is final. One because of the 24 h also closes the
   * chat.
   */
  function recordStatus(status: CloudStatus): void {
    const { ref, key, people, failure } = status
    hasStatuses = true
    if (failure?.code === windowCode) for (const person of people) closeChat(person, ref.postedAt ?? 0)
    const isNews = key !== undefined && changesPost(status)
    if (isNews) posts.set(key, new Map([...(posts.get(key) ?? []), [ref.id, reportOf(status)]]))
    notifyListeners()
    if (isNews && failure) for (const listener of failureListeners) listener(status)
  }

  /**
   * Whether a status is the first one of its message, the first to say that it was delivered, or says that it failed. Statuses arrive
   * in any order.
   */
  function changesPost({ ref, key, failure, isSentOnly }: CloudStatus): boolean {
    if (key === undefined) return false
    const earlier = posts.get(key)?.get(ref.id)
    if (earlier?.type !== 'there') return earlier === undefined
    return failure !== undefined || (earlier.mayFail === true && !isSentOnly)
  }

  /**
   * Records that the chat accepts no messages. Does nothing if the person wrote after `sentAt`, when the refused message was
   * sent, or 0.
   */
  function closeChat(person: string, sentAt: number): void {
    const since = windows.get(webhookId(person))?.since ?? 0
    if (sentAt === 0 || sentAt > since) setWindow(person, { isClosed: true, since })
  }

  /**
   * Records whether a chat is open, and notifies the listeners of a change. Ignores a window that is older than the known
   * one.
   */
  function setWindow(person: string, window: ChatWindow): void {
    const before = windows.get(webhookId(person))
    if (before && window.since < before.since) return
    windows.set(webhookId(person), window)
    if ((before?.isClosed ?? false) !== window.isClosed) notifyListeners()
  }

  /** Calls every listener. */
  function notifyListeners(): void {
    for (const listener of [...listeners]) listener()
  }

  /** Returns the reports about one person's chat, for its port. */
  function forChat(person: string): PostReports {
    return {
      of: (key) => [...(posts.get(key)?.values() ?? [])],
      isClosed: () => windows.get(webhookId(person))?.isClosed === true,
      withinMs: () => (isListening() ? statusMs : 0),
      observe: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }
  }

  /**
   * Resolves with the post's message as soon as a status names the key. After `statusMs`, resolves with `silent`, or
   * with `unknown` if that proves nothing: no statuses arrive at all, the wait was aborted, or the status may have come
   * while nothing listened, or to another process that posted and was then killed. Meta sends it again then, but maybe much
   * later.
   */
  async function waitForPost(
    key: string,
    since: number,
    clock: Clock,
    signal: AbortSignal,
  ): Promise<MessageRef | 'silent' | 'unknown'> {
    if (!isListening()) return 'unknown'
    const waiting = new AbortController()
    const stopWaiting = (): void => waiting.abort()
    const stopOnceReported = (): void => {
      if (posts.has(key)) stopWaiting()
    }
    listeners.add(stopOnceReported)
    signal.addEventListener('abort', stopWaiting)
    stopOnceReported()
    try {
      await pause(clock, statusMs, waiting.signal)
    } finally {
      listeners.delete(stopOnceReported)
      signal.removeEventListener('abort', stopWaiting)
    }
    const [first] = posts.get(key)?.values() ?? []
    const isProof = hasStatuses && unanswered.has(key) && listeningSince <= since && !signal.aborted
    return first?.ref ?? (isProof ? 'silent' : 'unknown')
  }
}

/** Returns the report of a status: there, failed, or not posted because the chat is closed. */
function reportOf({ ref, failure, isSentOnly }: CloudStatus): PostReport {
  if (failure === undefined) return { type: 'there', ref, ...(isSentOnly && { mayFail: true }) }
  if (failure.code === windowCode) return { type: 'chat-closed', ref }
  const { code, text } = failure
  const error = toCloudPortError(new CloudError(text, { status: 400, code }), `message ${ref.id}`)
  return { type: 'failed', ref, error }
}

/** Returns a person's id as webhooks have it. They write a number without the plus sign that a call may have. */
function webhookId(person: string): string {
  return person.replace(/^\+/, '')
}
