import { randomUUID } from 'node:crypto'
import { systemClock } from '@reply/core'
import { pause } from '@reply/core/internal'
import pg from 'pg'
import { addressOf, connectMs, withTimeout } from './connection.ts'
import { unpacked } from './encoding.ts'
import { toStoreError } from './errors.ts'

/** Hears the hints of all stores of a state. */
export interface HintListener {
  /** Connects at the first call. Returns a function that removes the listener. */
  watch(onHint: (hint: string) => void): () => void
  /** Ends the connection. */
  close(): void
}

/** Options of `createHintListener`. */
export interface HintListenerOptions {
  /** Where to connect. Must lead to the server itself, or to a pooler that keeps sessions. */
  readonly connection: pg.ClientConfig
  /** The channel of NOTIFY. */
  readonly channel: string
  /** Sends an empty notification to a channel over another connection. Rejects with a `StoreError`. */
  readonly notify: (channel: string) => Promise<void>
  /** Called once if notifications don't arrive, with a sentence that says so and how to fix it. */
  readonly onNotice: ((notice: string) => void) | undefined
}

/** How often the state is to be looked at while notifications don't arrive, in ms. */
const lookMs = 500
/** How long a statement and a notification may take, in ms. */
const answerMs = 2000
/** How often the connection is checked: one that stands still gives no sign, in ms. */
const checkMs = 5000
/** The pause before the next try to connect, in ms, and before that after notifications did not arrive. */
const againMs = 500
const laterMs = 60_000

/**
 * Listens on a connection of its own, which is opened again when it is lost. Hints may be lost meanwhile, so it then passes on '',
 * and every half second while notifications don't arrive at all.
 */
export function createHintListener(options: HintListenerOptions): HintListener {
  const { connection, channel, notify, onNotice } = options
  const listeners = new Set<{ readonly onHint: (hint: string) => void }>()
  const closing = new AbortController()
  let isListening = false
  let stopLooking: (() => void) | undefined
  let isNoticed = false
  return {
    watch: (onHint) => {
      const listener = { onHint }
      listeners.add(listener)
      if (!isListening) void listenUntilClosed()
      isListening = true
      return () => void listeners.delete(listener)
    },
    close: () => {
      closing.abort()
      listeners.clear()
    },
  }

  /** Listens until `close`, on one connection after the other. Never rejects. */
  async function listenUntilClosed(): Promise<void> {
    while (!closing.signal.aborted) {
      const isHeard = await listenOnce().catch((cause: unknown) => {
        const error = toStoreError(addressOf(connection), cause)
        // The store's other calls report that the server can't be reached.
        if (error.type === 'failed') notice(error.message)
        return true
      })
      lookOften()
      await pause(systemClock, isHeard ? againMs : laterMs, closing.signal)
    }
    stopLooking?.()
  }

  /**
   * Listens on one connection until it is lost. Resolves with false if notifications don't arrive over it. Rejects with an error
   * of `pg` if it can't listen, or a `StoreError`.
   */
  async function listenOnce(): Promise<boolean> {
    const client = new pg.Client(connection)
    const lost = new AbortController()
    const end = (): void => lost.abort()
    client.on('error', end).on('end', end)
    closing.signal.addEventListener('abort', end)
    try {
      await withTimeout(client.connect(), connectMs)
      if (!(await isTold(client, notify))) {
        notice(unheard(addressOf(connection)))
        return false
      }
      client.on('notification', (message) => {
        if (message.channel === channel) send(unpacked(message.payload ?? ''))
      })
      await withTimeout(client.query(`LISTEN ${pg.escapeIdentifier(channel)}`), answerMs)
      stopLooking?.()
      stopLooking = undefined
      send('')
      await untilLost(client, lost.signal)
      return true
    } finally {
      closing.signal.removeEventListener('abort', end)
      // It may still connect, or hang.
      void client.end().catch(() => {})
    }
  }

  /** Resolves when the connection is lost. Rejects if it gives no answer any more. */
  async function untilLost(client: pg.Client, lost: AbortSignal): Promise<void> {
    while (!lost.aborted) {
      await pause(systemClock, checkMs, lost)
      if (!lost.aborted) await withTimeout(client.query('SELECT 1'), answerMs)
    }
  }

  /** Passes '' on, and again every half second, until a connection listens. */
  function lookOften(): void {
    if (stopLooking || closing.signal.aborted) return
    send('')
    const stopTimer = systemClock.after(lookMs, () => {
      stopLooking = undefined
      lookOften()
    })
    stopLooking = stopTimer
  }

  /** Calls all listeners. */
  function send(hint: string): void {
    for (const { onHint } of listeners) onHint(hint)
  }

  /** Calls `onNotice` the first time. */
  function notice(sentence: string): void {
    if (isNoticed) return
    isNoticed = true
    onNotice?.(sentence)
  }
}

/** Whether notifications arrive over such a connection. Rejects with an error of `pg` if it can't listen. */
export async function hearsNotifications({
  connection,
  notify,
}: Pick<HintListenerOptions, 'connection' | 'notify'>): Promise<boolean> {
  const client = new pg.Client(connection)
  client.on('error', () => {})
  try {
    await withTimeout(client.connect(), connectMs)
    return await isTold(client, notify)
  } finally {
    void client.end().catch(() => {})
  }
}

/** Returns the sentence for a connection over which notifications don't arrive. */
export function unheard(server: string): string {
  return `Notifications of PostgreSQL at ${server} don't arrive, as behind a pooler in transaction mode, so each bridge looks for work every ${lookMs} ms. Set listenUrl to the URL of the server itself.`
}

/** Whether a notification of another connection arrives on this one. */
async function isTold(client: pg.Client, notify: HintListenerOptions['notify']): Promise<boolean> {
  const channel = randomUUID()
  await withTimeout(client.query(`LISTEN "${channel}"`), answerMs)
  const told = new Promise<true>((resolve) => {
    client.on('notification', (message) => {
      if (message.channel === channel) resolve(true)
    })
  })
  await notify(channel)
  const isArrived = await withTimeout(told, answerMs).catch(() => false)
  // Also tells a connection that was lost from one over which they don't arrive.
  await withTimeout(client.query(`UNLISTEN "${channel}"`), answerMs)
  return isArrived
}
