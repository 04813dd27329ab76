import type { TestClock } from '../clock.ts'
import type { Fields } from '../fields.ts'
import { createWebhookQueue, postTo } from '../platform/webhook.ts'
import { limits } from './limits.ts'
import { Refusal } from './refusal.ts'

/** An event as sent to the bot. */
interface TelegramUpdate extends Fields {
  readonly update_id: number
}

interface Poll {
  readonly offset: number | undefined
  readonly limit: number | undefined
  readonly timeoutS: number
  readonly allowed: readonly string[] | undefined
}

export interface Updates {
  /** Unconfirmed updates, oldest first. */
  readonly pending: readonly TelegramUpdate[]
  /** The update types that the bot asked for. Empty for the default. */
  readonly allowed: readonly string[]
  /** Adds an update, and wakes a poll or the webhook. Does nothing if the bot didn't ask for its type. */
  push(type: string, content: unknown): void
  /** Sets the types that the bot gets. Undefined keeps the present ones. */
  allow(types: readonly string[] | undefined): void
  /**
   * Confirms the updates before `offset`, or all but that many of the newest if it is negative, and sets the allowed
   * types. Resolves with the next ones at once, or with the next update, or empty on timeout or when `gone` aborts. An
   * older poll rejects with a 409.
   */
  poll(poll: Poll, gone: AbortSignal): Promise<readonly TelegramUpdate[]>
  /** Drops the oldest update, after the webhook accepted it or had its last attempt. */
  dropOldest(): void
  /** Drops all pending updates. */
  dropAll(): void
  /** Calls `run` for each new update, in place of an earlier `run`. */
  onPush(run: () => void): void
  /** Resolves the poll that waits, if any. */
  close(): void
}

/** Sent only to bots that ask for them by name. */
const onlyIfAllowed: ReadonlySet<string> = new Set(['chat_member', 'message_reaction', 'message_reaction_count'])

/** The refusal of a poll that a newer one replaces. */
const pollConflict = (): Refusal =>
  new Refusal(409, 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running')

interface Waiter {
  readonly finish: () => void
  readonly reject: (error: Refusal) => void
}

/** Returns the queue of a bot's updates, empty at first. The bot gets the default types until it asks for others. */
export function createUpdates(clock: TestClock): Updates {
  let pending: readonly TelegramUpdate[] = []
  let allowed: readonly string[] = []
  let nextId = 100_000_001
  let waiter: Waiter | undefined
  let notify = (): void => {}
  return {
    get pending() {
      return pending
    },
    get allowed() {
      return allowed
    },
    push,
    allow: (types) => {
      allowed = types ?? allowed
    },
    poll,
    dropOldest: () => {
      pending = pending.slice(1)
    },
    dropAll: () => {
      pending = []
    },
    onPush: (run) => {
      notify = run
    },
    close: () => waiter?.finish(),
  }

  /** Adds an update, and wakes the poll that waits and the webhook. Does nothing if the bot didn't ask for its type. */
  function push(type: string, content: unknown): void {
    const isWanted = allowed.length === 0 ? !onlyIfAllowed.has(type) : allowed.includes(type)
    if (!isWanted) return
    pending = [...pending, { update_id: nextId, [type]: content }]
    nextId += 1
    waiter?.finish()
    notify()
  }

  /**
   * Confirms updates, sets the allowed types, and resolves with the next updates, at once or when they come, or empty
   * on timeout. An older poll that waits rejects with a 409.
   */
  function poll(
    { offset, limit = limits.updates, timeoutS, allowed: types }: Poll,
    gone: AbortSignal,
  ): Promise<readonly TelegramUpdate[]> {
    allowed = types ?? allowed
    waiter?.reject(pollConflict())
    if (offset !== undefined && offset < 0) pending = pending.slice(offset)
    else pending = pending.filter(({ update_id }) => offset === undefined || update_id >= offset)
    const count = Math.min(Math.max(1, limit), limits.updates)
    if (pending.length > 0 || timeoutS <= 0) return Promise.resolve(pending.slice(0, count))
    return new Promise((resolve, reject) => {
      const stop = clock.after(timeoutS * 1000, () => mine.finish())
      /** Cancels the timeout, and lets another poll wait. */
      const stopWaiting = (): void => {
        stop()
        if (waiter === mine) waiter = undefined
      }
      const mine: Waiter = {
        finish: () => {
          stopWaiting()
          resolve(pending.slice(0, count))
        },
        reject: (error) => {
          stopWaiting()
          reject(error)
        },
      }
      waiter = mine
      gone.addEventListener('abort', mine.finish, { once: true })
    })
  }
}

export interface Webhook {
  /** Empty if no webhook is set. */
  readonly url: string
  readonly lastError: { readonly at: number; readonly message: string } | undefined
  /** Replaces the webhook, and sends it the pending updates. */
  set(url: string, secret: string | undefined): void
  /** Stops sending, and forgets the URL and the last error. Pending updates stay. */
  remove(): void
  /** Does the same as `remove`. */
  close(): void
}

/** Sends updates to a URL, one after the other, as they come. Sends none before `set`. */
export function createWebhook(clock: TestClock, updates: Updates): Webhook {
  let url = ''
  let secret: string | undefined
  let lastError: Webhook['lastError']
  const queue = createWebhookQueue({
    clock,
    limits: limits.webhook,
    oldest: () => (url === '' ? undefined : updates.pending[0]),
    post: (update, signal) => {
      const headers = {
        'content-type': 'application/json',
        ...(secret !== undefined && { 'X-Telegram-Bot-Api-Secret-Token': secret }),
      }
      return postTo(url, JSON.stringify(update), headers, signal)
    },
    drop: updates.dropOldest,
    onFailure: (message) => {
      lastError = { at: clock.now(), message }
    },
  })
  updates.onPush(queue.sendNext)
  return {
    get url() {
      return url
    },
    get lastError() {
      return lastError
    },
    set: (to, token) => {
      removeUrl()
      url = to
      secret = token
      queue.sendNext()
    },
    remove: removeUrl,
    close: removeUrl,
  }

  /** Stops sending, and forgets the URL and the last error. Pending updates stay. */
  function removeUrl(): void {
    queue.stop()
    lastError = undefined
    url = ''
  }
}
