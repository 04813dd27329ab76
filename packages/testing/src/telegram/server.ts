import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { StoredFile } from './chat.ts'
import { describe, type TelegramFault, type TelegramFaultPlan } from './fault.ts'
import { fileAt } from './file.ts'
import { methodNamed } from './methods/all.ts'
import { numberIn, type Payload, readPayload } from './payload.ts'
import { Refusal, tooMany } from './refusal.ts'
import { botScopeName, scopeName, type TelegramState, typingScopeName } from './state.ts'

/** A call as the server saw it. */
export interface TelegramCall {
  /** When it arrived, in ms since the epoch by the fake's clock. */
  readonly at: number
  /** What the client's `apiRoot` has after `url`, as "/second", to tell clients apart. Absent if nothing. */
  readonly root?: string
  /** The Bot API's name of the method: `sendMessage`, … */
  readonly method: string
  /** The chat that it is about. Undefined for methods without one. */
  readonly chatId: number | undefined
  /** Whether it was done, even if the client got no answer. */
  readonly ok: boolean
  /**
   * The server's status, even if the client got another answer or none. Absent if the call was never taken, or still
   * waits.
   */
  readonly status?: number
  /** The description of a refusal. */
  readonly description?: string
  /** The fault that hit it. Absent if none did. */
  readonly fault?: TelegramFault['type']
  /** Its fields as received; for a file, the name and size in bytes. */
  readonly payload: Readonly<Record<string, unknown>>
}

export interface ServerOptions {
  readonly state: TelegramState
  readonly token: string
  readonly plan: TelegramFaultPlan
  /** Every call is added here, and replaced when it is answered. */
  readonly calls: TelegramCall[]
  /** Waits to end when the server closes. */
  readonly stops: Set<() => void>
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly type?: string
  readonly description?: string
}

const page =
  '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n'

/** Speaks the Bot API over HTTP. */
export function createBotApi({ state, token, plan, calls, stops }: ServerOptions): Server {
  const server = createServer((request, response) => {
    // The client may disconnect while a response is being written.
    response.on('error', () => {})
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    // Errors of a method are answered; what remains is a disconnected client.
    take(request, response, gone.signal).catch(() => response.destroy())
  })
  // Never times out idle connections: closing one just as it is reused would be an unplanned fault.
  server.keepAliveTimeout = 0
  server.requestTimeout = 0
  return server

  async function take(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void> {
    const path = (request.url ?? '/').split('?')[0] ?? '/'
    const [, fileToken, filePath] = /^\/file\/bot([^/]+)\/(.+)$/.exec(path) ?? []
    if (filePath !== undefined) return sendFile(response, fileToken === token ? fileAt(state, filePath) : undefined)
    const [, root = '', given, method] = /^(.*)\/bot([^/]+)\/(\w+)$/.exec(path) ?? []
    if (method === undefined) return send(response, refused(new Refusal(404, describe(404))))
    if (given !== token) return send(response, refused(new Refusal(401, describe(401))))
    const read = await readPayload(request).catch((error: unknown) => error)
    if (gone.aborted) return
    const payload = isPayload(read) ? read : { fields: {}, files: new Map() }
    const chatId = numberIn(payload, 'chat_id')
    const fault = plan.next(method, chatId)
    const call: TelegramCall = {
      at: state.clock.now(),
      ...(root === '' ? {} : { root }),
      method,
      chatId,
      ok: false,
      payload: loggedOf(payload),
      ...(fault === undefined ? {} : { fault: fault.type }),
    }
    const index = calls.push(call) - 1
    const record = (answer: Answer): Answer => {
      const { status, description } = answer
      calls[index] = { ...call, ok: status === 200, status, ...(description === undefined ? {} : { description }) }
      return answer
    }
    const run = async (): Promise<Answer> => record(isPayload(read) ? await done(method, read, gone) : refused(read))
    await suffer(fault, { call, response, run, record })
  }

  /** Applies a fault to a call. */
  async function suffer(fault: TelegramFault | undefined, { call, response, run, record }: Suffering): Promise<void> {
    switch (fault?.type) {
      case undefined:
        return send(response, await run())
      case 'rate-limited':
        freeze(call, fault.retryAfterS)
        return send(response, record(refused(tooMany(fault.retryAfterS))))
      case 'status': {
        const answer = refused(new Refusal(fault.code, fault.description ?? describe(fault.code)))
        if (fault.isTaken) await run()
        else record(answer)
        return send(response, answer)
      }
      case 'html':
        return send(response, record({ status: 502, body: page, type: 'text/html', description: describe(502) }))
      case 'refuse':
        response.socket?.destroy()
        return
      case 'accept-then-drop':
        await run()
        response.socket?.destroy()
        return
      case 'stall':
        return
      case 'accept-then-stall':
        await run()
        return
      case 'delay':
        await wait(fault.delayMs)
        return send(response, await run())
      default:
        return fault satisfies never
    }
  }

  async function done(method: string, payload: Payload, gone: AbortSignal): Promise<Answer> {
    try {
      const run = methodNamed(method, state)
      if (!run) throw new Refusal(404, 'Not Found: method not found')
      const result = await run(state, payload, gone)
      return { status: 200, body: JSON.stringify({ ok: true, result }) }
    } catch (error) {
      return refused(error)
    }
  }

  function freeze({ method, chatId }: TelegramCall, seconds: number): void {
    if (method === 'sendChatAction' && chatId !== undefined) state.budget.freeze(typingScopeName(chatId), seconds)
    else if (chatId !== undefined) state.budget.freeze(scopeName(chatId), seconds)
    else if (method.startsWith('send')) state.budget.freeze(botScopeName, seconds)
  }

  function wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = state.clock.after(delayMs, () => {
        stops.delete(stop)
        resolve()
      })
      stops.add(stop)
    })
  }
}

interface Suffering {
  readonly call: TelegramCall
  readonly response: ServerResponse
  readonly run: () => Promise<Answer>
  readonly record: (answer: Answer) => Answer
}

/** Any error that isn't a refusal is a bug in the fake, which a test should see. */
function refused(error: unknown): Answer {
  const { code, message, retryAfterS, movedTo } =
    error instanceof Refusal
      ? error
      : new Refusal(500, `Internal Server Error: the fake Telegram failed: ${String(error)}`)
  const parameters = { retry_after: retryAfterS, migrate_to_chat_id: movedTo }
  const has = retryAfterS !== undefined || movedTo !== undefined
  const body = JSON.stringify({ ok: false, error_code: code, description: message, ...(has && { parameters }) })
  return { status: code, body, description: message }
}

function send(response: ServerResponse, { status, body, type = 'application/json' }: Answer): void {
  if (response.destroyed) return
  response.writeHead(status, { 'content-type': type })
  response.end(body)
}

/** https://core.telegram.org/bots/api#getfile */
function sendFile(response: ServerResponse, file: StoredFile | undefined): void {
  if (!file) return send(response, refused(new Refusal(404, describe(404))))
  response.writeHead(200, { 'content-type': 'application/octet-stream' })
  response.end(file.bytes)
}

function isPayload(read: unknown): read is Payload {
  return typeof read === 'object' && read !== null && 'fields' in read && 'files' in read
}

function loggedOf({ fields, files }: Payload): Readonly<Record<string, unknown>> {
  const sent = [...files].map(([name, { name: filename, bytes }]) => [name, { name: filename, bytes: bytes.length }])
  return { ...fields, ...Object.fromEntries(sent) }
}
