import { createHmac } from 'node:crypto'
import type { Server } from 'node:http'
import type { TestClock } from '../clock.ts'
import { type Fields, fieldsOf } from '../fields.ts'
import { parseJson } from '../platform/payload.ts'
import { acceptSockets, type Socket } from '../platform/socket.ts'
import { createTimers } from '../platform/timers.ts'
import { postTo } from '../platform/webhook.ts'
import { limits } from './limits.ts'

/** The kind of message to the app: an event, a person's use of a control, or a slash command. */
type SlackEnvelope = 'events_api' | 'interactive' | 'slash_commands'

interface Attempt {
  readonly type: SlackEnvelope
  readonly body: Fields
  /** The number of the retry, from 1. 0 for the first attempt. */
  readonly retryNumber: number
  /** Aborts on timeout. */
  readonly signal: AbortSignal
}

interface Receiver {
  /** Sends once. Resolves with whether it was acknowledged before the signal aborts. Never rejects. */
  deliver(attempt: Attempt): Promise<boolean>
  /** Whether an app is connected. Otherwise, nothing is sent or retried. */
  isConnected(): boolean
}

/** Delivers events to the app. */
export interface EventDelivery {
  /**
   * Resolves with whether it was finally acknowledged. Only events are retried. False, without a try, if no app is
   * connected.
   */
  send(type: SlackEnvelope, body: Fields): Promise<boolean>
  /** Sends everything there from now on, or nothing if it is undefined. */
  setReceiver(receiver: Receiver | undefined): void
  /** Sends the next event twice although it is acknowledged, as if the acknowledgement was lost. */
  repeatNext(): void
  /** Sends and retries nothing any more. */
  close(): void
}

/** Returns a delivery without a receiver, which sends nothing until one is set. */
export function createDelivery(clock: TestClock): EventDelivery {
  let receiver: Receiver | undefined
  let repeats = 0
  let isClosed = false
  const timers = createTimers(clock)
  return {
    send,
    setReceiver: (next) => {
      receiver = next
    },
    repeatNext: () => {
      repeats += 1
    },
    close: () => {
      isClosed = true
      receiver = undefined
      timers.close()
    },
  }

  /**
   * Resolves with whether it was finally acknowledged. An event that isn't is sent again at once, after a minute and
   * after five. One that is acknowledged is sent once more if `repeatNext` was called. False, without a try, if no app
   * is connected.
   */
  async function send(type: SlackEnvelope, body: Fields): Promise<boolean> {
    if (!receiver?.isConnected()) return false
    if (await attemptOnce(type, body, 0)) {
      if (type !== 'events_api' || repeats === 0) return true
      repeats -= 1
      return await attemptOnce(type, body, 1)
    }
    if (type !== 'events_api') return false
    for (const [index, delayMs] of limits.retries.entries()) {
      if (delayMs > 0) await timers.wait(delayMs)
      if (isClosed) return false
      if (await attemptOnce(type, body, index + 1)) return true
    }
    return false
  }

  /** Sends once. Resolves with whether it was acknowledged within 3 s. False if there is no receiver. */
  async function attemptOnce(type: SlackEnvelope, body: Fields, retryNumber: number): Promise<boolean> {
    if (!receiver) return false
    const abort = new AbortController()
    const stop = timers.after(limits.ackMs, () => abort.abort())
    try {
      return await receiver.deliver({ type, body, retryNumber, signal: abort.signal })
    } finally {
      stop()
    }
  }
}

interface Sockets {
  /** Makes a ticket for one connection and returns its URL. Without a ticket, a connection is destroyed. */
  createUrl(): string
  readonly receiver: Receiver
  /** How many apps are connected. */
  readonly count: number
  /** Sends any text to all apps as a frame. */
  pushFrame(text: string): void
  /** Asks all apps to reconnect, as Slack does every few hours. */
  recycle(): void
  /** Breaks all connections and accepts no more. */
  close(): void
}

/** Serves Socket Mode: events arrive over a WebSocket and are acknowledged on it. `addressOf` is the server's. */
export function createSockets(server: Server, addressOf: () => string): Sockets {
  const tickets = new Set<string>()
  const sockets = new Set<Socket>()
  const waiting = new Map<string, () => void>()
  let lastNumber = 0
  const connections = acceptSockets(server, acceptApp, ({ url = '/' }) =>
    tickets.delete(new URL(url, 'http://loopback').searchParams.get('ticket') ?? ''),
  )
  return {
    createUrl: () => {
      lastNumber += 1
      const ticket = `ticket-${lastNumber}`
      tickets.add(ticket)
      return `${addressOf().replace(/^http/, 'ws')}/link?ticket=${ticket}`
    },
    receiver: { deliver: deliverToNext, isConnected: () => sockets.size > 0 },
    get count() {
      return sockets.size
    },
    pushFrame: (text) => {
      for (const socket of sockets) socket.send(text)
    },
    recycle: () => {
      for (const socket of sockets) sendJson(socket, { type: 'disconnect', reason: 'refresh_requested' })
    },
    close: connections.close,
  }

  /**
   * Greets an app that connected, and reads its acknowledgements until it disconnects. Refuses one beyond the limit:
   * https://github.com/slackapi/node-slack-sdk/issues/1654
   */
  function acceptApp(socket: Socket): void {
    if (sockets.size >= limits.sockets) return sendJson(socket, { type: 'disconnect', reason: 'too_many_websockets' })
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => sockets.delete(socket))
    socket.on('message', (message) => {
      const { envelope_id } = fieldsOf(parseJson(String(message)))
      waiting.get(String(envelope_id))?.()
    })
    sendJson(socket, { type: 'hello', num_connections: sockets.size, connection_info: { app_id: 'A0FAKE' } })
  }

  /**
   * Sends to one connection, each time to the next: "each payload may be sent to any of the connections",
   * https://docs.slack.dev/apis/events-api/using-socket-mode#connections. Resolves with whether it acknowledged before the
   * signal aborts. False if none is connected.
   */
  async function deliverToNext({ type, body, retryNumber, signal }: Attempt): Promise<boolean> {
    const socket = [...sockets].find(({ readyState, OPEN }) => readyState === OPEN)
    if (!socket) return false
    sockets.delete(socket)
    sockets.add(socket)
    lastNumber += 1
    const envelope_id = `envelope-${lastNumber}`
    return await new Promise((resolve) => {
      const end = (isAcknowledged: boolean): void => {
        waiting.delete(envelope_id)
        resolve(isAcknowledged)
      }
      waiting.set(envelope_id, () => end(true))
      signal.addEventListener('abort', () => end(false), { once: true })
      const retried = retryNumber > 0 ? { retry_attempt: retryNumber, retry_reason: 'timeout' } : { retry_attempt: 0 }
      sendJson(socket, {
        envelope_id,
        type,
        payload: body,
        accepts_response_payload: type !== 'events_api',
        ...retried,
      })
    })
  }

  function sendJson(socket: Socket, message: object): void {
    socket.send(JSON.stringify(message))
  }
}

/** Returns the headers that identify a request as Slack's: the time, and the body's signature. */
export function slackHeaders(body: string, signingSecret: string, clock: TestClock): Record<string, string> {
  const timestamp = String(Math.floor(clock.now() / 1000))
  const signature = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex')
  return { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${signature}` }
}

/**
 * Returns an event as JSON, an interaction as JSON in a form. A command's fields are those of the form:
 * https://docs.slack.dev/interactivity/implementing-slash-commands
 */
function encodeBody(type: Attempt['type'], body: Attempt['body']): string {
  const json = JSON.stringify(body)
  if (type === 'events_api') return json
  if (type === 'interactive') return new URLSearchParams({ payload: json }).toString()
  const fields = Object.entries(body).map(([name, value]): [string, string] => [name, String(value)])
  return new URLSearchParams(fields).toString()
}

/** Sends to a request URL, signed. Always counts as connected. */
export function createRequestReceiver(url: string, signingSecret: string, clock: TestClock): Receiver {
  return { deliver, isConnected: () => true }

  /** Posts once, signed. Resolves with false for another status than 200, and if the connection fails. */
  async function deliver({ type, body, retryNumber, signal }: Attempt): Promise<boolean> {
    const text = encodeBody(type, body)
    const headers = {
      'content-type': type === 'events_api' ? 'application/json' : 'application/x-www-form-urlencoded',
      ...slackHeaders(text, signingSecret, clock),
      ...(retryNumber > 0 && { 'x-slack-retry-num': String(retryNumber), 'x-slack-retry-reason': 'http_timeout' }),
    }
    return await postTo(url, text, headers, signal).then(
      (status) => status === 200,
      () => false,
    )
  }
}
