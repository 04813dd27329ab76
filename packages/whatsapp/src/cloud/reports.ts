import type { Clock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import type { PostReport, PostReports } from '@reply/sink/channel'
import { createRecent, pause } from '@reply/sink/internal'
import { type CloudClient, CloudError } from './api.ts'
import { toCloudPortError, windowCode } from './failure.ts'

/** A status of a message, from a webhook. */
export interface CloudStatus {
  readonly ref: MessageRef
  /** What the message was posted with as `biz_opaque_callback_data`. Absent for messages without it. */
  readonly key: string | undefined
  /** Ids of the person that it was written to. */
  readonly people: readonly string[]
  /** Why it was not delivered. Absent if it was sent, delivered or read. */
  readonly failure: { readonly code: number; readonly text: string } | undefined
}

/**
 * What the webhooks of a number say of its messages, and whose chats are closed: WhatsApp takes messages for a person only
 * within 24 h of their last one.
 */
export interface CloudReports {
  /** A channel receives the number's webhooks from now on. */
  listen(): void
  /** Whether a channel does. Without one, no one would say when a chat is open again. */
  isListening(): boolean
  status(status: CloudStatus): void
  /** The person wrote at that time, in ms since the epoch: less than 24 h ago. */
  heard(person: string, at: number): void
  /** The Cloud API refused a message to that person because of the 24 h, at that time. */
  close(person: string, at: number): void
  /** Those of one person's chat, for a port. */
  of(person: string): PostReports
  /** The message posted with that key, as soon as a status names it. `silent`: none did in time, although others came. */
  find(key: string, clock: Clock, signal: AbortSignal): Promise<MessageRef | 'silent' | 'unknown'>
}

/** Whether WhatsApp takes messages for a person, and when they last wrote, in ms since the epoch; 0 if that is unknown. */
interface Window {
  readonly isClosed: boolean
  readonly since: number
}

/** How many posts to know the reports of; the oldest are dropped. */
const mostPosts = 1000

/** How many people to know as out of reach. A forgotten one is noticed by the next message that fails. */
const mostPeople = 10_000

/**
 * How long to wait for a message's first status, in ms. Meta documents no time; a status usually comes within a second or
 * two.
 */
const statusMs = 10_000

const known = new WeakMap<CloudClient, CloudReports>()

/** Shared by everything that uses the client. */
export function reportsOf(client: CloudClient): CloudReports {
  const reports = known.get(client) ?? createReports()
  known.set(client, reports)
  return reports
}

function createReports(): CloudReports {
  /** By key, then by the message's id: tries of one post may make several messages. */
  const posts = createRecent<ReadonlyMap<string, PostReport>>(mostPosts)
  const people = createRecent<Window>(mostPeople)
  const listeners = new Set<() => void>()
  let isListening = false
  let hasHeard = false
  return {
    listen: () => {
      isListening = true
    },
    isListening: () => isListening,
    status,
    heard: (person, at) => set(person, { isClosed: false, since: at }),
    close,
    of,
    find,
  }

  function status({ ref, key, people: named, failure }: CloudStatus): void {
    hasHeard = true
    if (failure?.code === windowCode) for (const person of named) close(person, ref.postedAt ?? 0)
    if (key !== undefined) {
      const before = posts.get(key) ?? new Map<string, PostReport>()
      const said = before.get(ref.id)
      // A failure is the last word, and statuses may come in any order.
      if (said === undefined || said.type === 'there')
        posts.set(key, new Map([...before, [ref.id, reportOf(ref, failure)]]))
    }
    changed()
  }

  /** The report of an earlier message may come after the person has written. */
  function close(person: string, at: number): void {
    const since = people.get(idOf(person))?.since ?? 0
    if (at === 0 || at > since) set(person, { isClosed: true, since })
  }

  function set(person: string, window: Window): void {
    const before = people.get(idOf(person))
    if (before && window.since < before.since) return
    people.set(idOf(person), window)
    if ((before?.isClosed ?? false) !== window.isClosed) changed()
  }

  function changed(): void {
    for (const listener of [...listeners]) listener()
  }

  function of(person: string): PostReports {
    return {
      of: (key) => [...(posts.get(key)?.values() ?? [])],
      isClosed: () => people.get(idOf(person))?.isClosed === true,
      withinMs: () => (isListening ? statusMs : 0),
      observe: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }
  }

  async function find(key: string, clock: Clock, signal: AbortSignal): Promise<MessageRef | 'silent' | 'unknown'> {
    if (!isListening) return 'unknown'
    const over = new AbortController()
    const end = (): void => over.abort()
    const look = (): void => {
      if (posts.has(key)) end()
    }
    listeners.add(look)
    signal.addEventListener('abort', end)
    look()
    try {
      await pause(clock, statusMs, over.signal)
    } finally {
      listeners.delete(look)
      signal.removeEventListener('abort', end)
    }
    const [first] = posts.get(key)?.values() ?? []
    return first?.ref ?? (hasHeard && !signal.aborted ? 'silent' : 'unknown')
  }
}

function reportOf(ref: MessageRef, failure: CloudStatus['failure']): PostReport {
  if (failure === undefined) return { type: 'there', ref }
  if (failure.code === windowCode) return { type: 'held', ref }
  const { code, text } = failure
  const error = toCloudPortError(new CloudError(text, { status: 400, code }), `message ${ref.id}`)
  return { type: 'failed', ref, error }
}

/** Webhooks name a number without the sign that a call may have. */
function idOf(person: string): string {
  return person.replace(/^\+/, '')
}
