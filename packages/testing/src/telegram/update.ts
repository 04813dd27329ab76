import type { TestClock } from '../clock.ts'
import { type Fields, fieldsOf } from '../fields.ts'
import { createWebhookQueue, postTo } from '../platform/webhook.ts'
import { limits } from './limits.ts'
import { Refusal } from './refusal.ts'

/** An event as sent to the bot. */
interface TelegramUpdate extends Fields {
  readonly update_id: number
}

/** An update that waits. */
interface PendingUpdate {
  readonly update: TelegramUpdate
  /** Names the queue that a webhook gets it in. Queues are independent of each other. */
  readonly queue: string
}

interface Poll {
  readonly offset: number | undefined
  readonly limit: number | undefined
  readonly timeoutS: number
  readonly allowed: readonly string[] | undefined
}

export interface Updates {
  /** Unconfirmed updates, oldest first. */
  readonly pending: readonly PendingUpdate[]
  /** Whether a poll waits for updates. */
  readonly isPolled: boolean
  /** The update types that the bot asked for. Empty for the default. */
  readonly allowed: readonly string[]
  /** Adds an update, and wakes a poll or the webhook. Does nothing if the bot didn't ask for its type. */
  push(type: string, content: unknown): void
  /** Sets the types that the bot gets. Undefined keeps the present ones. */
  allow(types: readonly string[] | undefined): void
  /**
   * Confirms the updates before `offset`, or all but that many of the newest if it is negative, and sets the allowed
   * types. Resolves with the next ones at once, or with the next update, or empty on timeout or when `gone` aborts. A poll
   * that has to wait ends an older one that waits, with a 409.
   */
  poll(poll: Poll, gone: AbortSignal): Promise<readonly TelegramUpdate[]>
  /** Drops an update, after the webhook accepted it or had its last attempt. Does nothing if it is gone. */
  drop(updateId: number): void
  /** Drops all pending updates. */
  dropAll(): void
  /** Calls `run` for each new update, in place of an earlier `run`. */
  onPush(run: () => void): void
  /** Resolves the poll that waits, if any. */
  close(): void
}

/** Sent only to bots that ask for them by name. */
const onlyIfAllowed: ReadonlySet<string> = new Set(['chat_member', 'message_reaction', 'message_reaction_count'])

/** The refusal of a poll that a newer one replaces. https://github.com/tdlib/telegram-bot-api: `Client::abort_long_poll` */
const pollConflict = (): Refusal =>
  new Refusal(409, 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running')

interface Waiter {
  readonly finish: () => void
  readonly reject: (error: Refusal) => void
}

/** Returns the queue of a bot's updates, empty at first. The bot gets the default types until it asks for others. */
export function createUpdates(clock: TestClock): Updates {
  let pending: readonly PendingUpdate[] = []
  let allowed: readonly string[] = []
  let nextId = 100_000_001
  let waiter: Waiter | undefined
  let lastConflictAt = Number.NEGATIVE_INFINITY
  let notify = (): void => {}
  return {
    get pending() {
      return pending
    },
    get isPolled() {
      return waiter !== undefined
    },
    get allowed() {
      return allowed
    },
    push,
    allow: (types) => {
      allowed = types ?? allowed
    },
    poll,
    drop: (updateId) => {
      pending = pending.filter(({ update }) => update.update_id !== updateId)
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
    pending = [...pending, { update: { update_id: nextId, [type]: content }, queue: queueOf(type, content) }]
    nextId += 1
    waiter?.finish()
    notify()
  }

  /**
   * Confirms updates, sets the allowed types, and resolves with the next updates, at once or when they come, or empty
   * on timeout. If it has to wait, an older poll that waits rejects with a 409.
   */
  function poll(
    { offset, limit = limits.updates, timeoutS, allowed: types }: Poll,
    gone: AbortSignal,
  ): Promise<readonly TelegramUpdate[]> {
    allowed = types ?? allowed
    if (offset !== undefined && offset < 0) pending = pending.slice(offset)
    else pending = pending.filter(({ update }) => offset === undefined || update.update_id >= offset)
    const count = Math.min(Math.max(1, limit), limits.updates)
    const firstOnes = (): readonly TelegramUpdate[] => pending.slice(0, count).map(({ update }) => update)
    if (pending.length > 0 || timeoutS <= 0) return Promise.resolve(firstOnes())
    waiter?.reject(pollConflict())
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
          resolve(firstOnes())
        },
        reject: (error) => {
          stopWaiting()
          delayRepeatedConflict(() => reject(error))
        },
      }
      waiter = mine
      gone.addEventListener('abort', mine.finish, { once: true })
    })
  }

  /**
   * Answers a poll with a conflict: at once, or after 3 s if the last one was less than 3 s ago.
   * https://github.com/tdlib/telegram-bot-api: `Client::fail_query_conflict`
   */
  function delayRepeatedConflict(answer: () => void): void {
    const isRepeated = clock.now() - lastConflictAt < limits.conflictMs
    if (isRepeated) clock.after(limits.conflictMs, answer)
    else {
      lastConflictAt = clock.now()
      answer()
    }
  }
}

/**
 * Returns the queue of an update. Telegram's own server has one for the messages of each chat, one for the presses of each
 * person, and others for the other types: `add_update` and its callers in
 * https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/Client.cpp.
 */
function queueOf(type: string, content: unknown): string {
  const { chat, from } = fieldsOf(content)
  return `${type} ${String(fieldsOf(type === 'callback_query' ? from : chat).id)}`
}

export interface Webhook {
  /** Empty if no webhook is set. */
  readonly url: string
  readonly maxConnections: number
  readonly lastError: { readonly at: number; readonly message: string } | undefined
  /** Replaces the webhook, and sends it the pending updates. */
  set(url: string, options: WebhookOptions): void
  /** Stops sending, and forgets the URL and the last error. Pending updates stay. */
  remove(): void
  /** Does the same as `remove`. */
  close(): void
}

interface WebhookOptions {
  readonly secret: string | undefined
  /** How many updates may be on their way at the same time. */
  readonly maxConnections: number
}

/**
 * Sends updates to a URL as they come, and none before `set`. Those of one queue go one after the other, each until it is
 * accepted. Queues don't wait for each other: `send_update` in
 * https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/WebhookActor.cpp.
 */
export function createWebhook(clock: TestClock, updates: Updates): Webhook {
  const none: WebhookOptions = { secret: undefined, maxConnections: 0 }
  let url = ''
  let options = none
  let lastError: Webhook['lastError']
  let sending = 0
  /** By name. Those without updates are forgotten. */
  const queues = new Map<string, ReturnType<typeof createWebhookQueue>>()
  updates.onPush(sendAll)
  return {
    get url() {
      return url
    },
    get maxConnections() {
      return options.maxConnections
    },
    get lastError() {
      return lastError
    },
    set: (to, given) => {
      removeUrl()
      url = to
      options = given
      sendAll()
    },
    remove: removeUrl,
    close: removeUrl,
  }

  /** Sends the oldest update of each queue that isn't sending or waiting, as long as there are connections left. */
  function sendAll(): void {
    if (url === '') return
    for (const name of new Set(updates.pending.map(({ queue }) => queue))) {
      const queue = queues.get(name) ?? createQueue(name)
      queues.set(name, queue)
      queue.sendNext()
    }
  }

  /** Returns the queue of this name. It sends nothing while there is no URL, or no connection left. */
  function createQueue(name: string): ReturnType<typeof createWebhookQueue> {
    let sent: TelegramUpdate | undefined
    return createWebhookQueue<TelegramUpdate>({
      clock,
      limits: limits.webhook,
      oldest: () =>
        url === '' || sending >= options.maxConnections
          ? undefined
          : updates.pending.find(({ queue }) => queue === name)?.update,
      post: async (update, signal) => {
        sent = update
        sending += 1
        try {
          return await postTo(url, JSON.stringify(update), headersOf(options), signal)
        } finally {
          sending -= 1
          // After this queue has gone on or waits.
          setImmediate(sendAll)
        }
      },
      drop: () => {
        if (sent) updates.drop(sent.update_id)
        if (!updates.pending.some(({ queue }) => queue === name)) queues.delete(name)
      },
      onFailure: (message) => {
        lastError = { at: clock.now(), message }
      },
    })
  }

  /** Stops sending, and forgets the URL and the last error. Pending updates stay. */
  function removeUrl(): void {
    for (const queue of queues.values()) queue.stop()
    queues.clear()
    lastError = undefined
    url = ''
    options = none
  }
}

/** Returns the headers of a request with an update. */
function headersOf({ secret }: WebhookOptions): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/json',
    ...(secret !== undefined && { 'X-Telegram-Bot-Api-Secret-Token': secret }),
  }
}
