import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Fields } from '../fields.ts'
import type { AnswerFault } from '../platform/fault.ts'
import { answerCall, type Handler, type HttpAnswer, sendAnswer } from '../platform/server.ts'
import type { Timers } from '../platform/timers.ts'
import type { StoredFile } from './chat.ts'
import type { TelegramFault, TelegramFaultPlan } from './fault.ts'
import { fileAt } from './file.ts'
import { methodNamed } from './methods.ts'
import { numberIn, type Payload, readPayload } from './payload.ts'
import { Refusal, tooMany } from './refusal.ts'
import { botScopeName, scopeName, type TelegramState, typingScopeName } from './state.ts'

/** A call as the server saw it. */
export interface TelegramCall {
  /** When it arrived, in ms since the epoch by the fake's clock. */
  readonly at: number
  /**
   * The rest of the client's `apiRoot` after `url`, for example "/second", to tell clients apart. Absent if there is no
   * rest.
   */
  readonly root?: string
  /** The Bot API's name of the method: `sendMessage`, … */
  readonly method: string
  /** The chat that it is about. Undefined for methods without one. */
  readonly chatId: number | undefined
  /** Whether it was done, even if the client got no answer. */
  readonly ok: boolean
  /**
   * The server's status, even if the client got another answer or none. Absent if the call was not done, or still
   * waits.
   */
  readonly status?: number
  /** The description of a refusal. */
  readonly description?: string
  /** The fault that hit it. Absent if none did. */
  readonly fault?: TelegramFault['type']
  /** Its fields as received. A file has its name and size in bytes. */
  readonly payload: Readonly<Record<string, unknown>>
}

interface BotApiOptions {
  readonly state: TelegramState
  readonly token: string
  readonly plan: TelegramFaultPlan
  /** Every call is added here, and replaced when it is answered. */
  readonly calls: TelegramCall[]
  readonly timers: Timers
}

interface Answer extends HttpAnswer {
  readonly description?: string
}

const page =
  '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n'

/** Speaks the Bot API. */
export function createBotApi({ state, token, plan, calls, timers }: BotApiOptions): Handler {
  return async (request, response, gone) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/'
    const [, fileToken, filePath] = /^\/file\/bot([^/]+)\/(.+)$/.exec(path) ?? []
    if (filePath !== undefined) return sendFile(response, fileToken === token ? fileAt(state, filePath) : undefined)
    const [, root = '', given, method] = /^(.*)\/bot([^/]+)\/(\w+)$/.exec(path) ?? []
    if (method === undefined) return sendAnswer(response, refused(new Refusal(404, describe(404))))
    if (given !== token) return sendAnswer(response, refused(new Refusal(401, describe(401))))
    await take({ root, method }, request, response, gone)
  }

  async function take(
    { root, method }: { readonly root: string; readonly method: string },
    request: IncomingMessage,
    response: ServerResponse,
    gone: AbortSignal,
  ): Promise<void> {
    const read = await readPayload(request).catch((error: unknown) => error)
    if (gone.aborted) return
    const payload = isPayload(read) ? read : { fields: {}, files: new Map() }
    const chatId = numberIn(payload, 'chat_id')
    const fault = plan.next(method, chatId)
    const call: TelegramCall = {
      at: state.clock.now(),
      ...(root !== '' && { root }),
      method,
      chatId,
      ok: false,
      payload: loggedOf(payload),
      ...(fault && { fault: fault.type }),
    }
    const index = calls.push(call) - 1
    await answerCall({
      response,
      timers,
      fault,
      run: async () => (isPayload(read) ? await done(method, read, gone) : refused(read)),
      answerTo: (due) => answerTo(due, call),
      log: ({ status, description }) => {
        calls[index] = { ...call, ok: status === 200, status, ...(description !== undefined && { description }) }
      },
    })
  }

  function answerTo(fault: AnswerFault<TelegramFault>, call: TelegramCall): Answer {
    switch (fault.type) {
      case 'rate-limited':
        freeze(call, fault.retryAfterS)
        return refused(tooMany(fault.retryAfterS))
      case 'status':
        return refused(new Refusal(fault.code, fault.description ?? describe(fault.code)))
      case 'html':
        return { status: 502, body: page, type: 'text/html', description: describe(502) }
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
}

/** Any error that isn't a refusal is a bug in the fake, and must fail the test. */
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

/** https://core.telegram.org/bots/api#getfile */
function sendFile(response: ServerResponse, file: StoredFile | undefined): void {
  if (!file) return sendAnswer(response, refused(new Refusal(404, describe(404))))
  response.writeHead(200, { 'content-type': 'application/octet-stream' })
  response.end(file.bytes)
}

function isPayload(read: unknown): read is Payload {
  return typeof read === 'object' && read !== null && 'fields' in read && 'files' in read
}

function loggedOf({ fields, files }: Payload): Fields {
  const sent = [...files].map(([name, { name: filename, bytes }]) => [name, { name: filename, bytes: bytes.length }])
  return { ...fields, ...Object.fromEntries(sent) }
}

const usualDescriptions: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  413: 'Request Entity Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  504: 'Gateway Timeout',
}

function describe(code: number): string {
  return usualDescriptions[code] ?? `Error ${code}`
}
