import { ReplyError } from '@reply/core'
import { safeOnError } from '@reply/core/internal'
import { WebSocket } from 'ws'
import type { JsonProgram } from './json-program.ts'

export interface JsonSocketOptions {
  /** A `ws:` or `wss:` URL. */
  readonly url: string
  /** Sent as a bearer token. Never part of an error. */
  readonly token: string | undefined
  /** How long the connection may take to open, in ms. */
  readonly deadlineMs: number
  /** Called with the value of each message, in order. Exceptions are reported, without the message. */
  readonly onMessage: (value: unknown) => void
  /** Called once, when an open connection has ended. */
  readonly onEnd: () => void
  /** Called with `malformed` for messages that are not JSON, or could not be used. */
  readonly onError: (error: ReplyError) => void
}

/**
 * Opens a WebSocket that carries JSON. Rejects with `unauthorized` if the token is refused, and with `unreachable` if there
 * is no listener, it answers with another status, or it does not answer in time.
 */
export async function openJsonSocket(options: JsonSocketOptions): Promise<Pick<JsonProgram, 'send' | 'close'>> {
  const { url, token, deadlineMs, onMessage, onEnd } = options
  const onError = safeOnError(options.onError)
  const name = withoutSecrets(url)
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const socket = new WebSocket(url, { headers, handshakeTimeout: deadlineMs })
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('unexpected-response', (_, { statusCode = 0 }) => {
      socket.terminate()
      reject(refusal(name, statusCode))
    })
    socket.on('error', (cause) => reject(unreachable(name, cause.message)))
  })
  socket.on('message', (data) => {
    const text = String(data)
    const value = parsed(text)
    if (value === undefined)
      return onError(
        new ReplyError(
          'malformed',
          `${name} sent a message of ${text.length} characters that is not JSON. It was skipped.`,
        ),
      )
    try {
      onMessage(value)
    } catch (error) {
      // Leaves out the message and the cause, because both may quote what was sent.
      const kind = error instanceof Error ? error.name : typeof error
      const problem = `A message of ${name} of ${text.length} characters could not be used (${kind}). It was skipped`
      onError(new ReplyError('malformed', `${problem}. Report this with the version of the program.`))
    }
  })
  void ended.then(onEnd)
  return { send, close }

  /** Rejects with `closed` if the connection has ended. */
  async function send(value: unknown): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      socket.send(JSON.stringify(value), (cause) => {
        if (!cause) return resolve()
        reject(new ReplyError('closed', `The connection to ${name} has ended. It is opened again.`, { cause }))
      })
    })
  }

  /** Resolves when the connection has ended, which takes a second at most. */
  async function close(): Promise<void> {
    socket.close()
    // A listener that hangs does not answer.
    const stop = setTimeout(() => socket.terminate(), 1000)
    await ended
    clearTimeout(stop)
  }
}

/** Returns a URL without user, password, query and fragment, for messages. Throws if it is malformed. */
export function withoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

/** Returns the error of a listener that answered with a status: `unauthorized` for 401 and 403, else `unreachable`. */
function refusal(name: string, statusCode: number): ReplyError {
  if (statusCode === 401 || statusCode === 403)
    return new ReplyError(
      'unauthorized',
      `${name} refused the token. Pass the token that the listener was started with.`,
    )
  return unreachable(name, `it answered with the status ${statusCode}`)
}

/** Returns the error of a connection that could not be opened. */
function unreachable(name: string, reason: string): ReplyError {
  return new ReplyError('unreachable', `No connection to ${name}: ${reason}. Start the listener, or correct the URL.`)
}

/** Returns the value of a JSON text. Undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
