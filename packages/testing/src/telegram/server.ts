import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Fields, fieldsOf } from '../fields.ts'
import type { CallLog } from '../platform/calls.ts'
import type { AnswerFault } from '../platform/fault.ts'
import { hasHalfPair, isFile, numberIn, parseJson, readBody, readForm } from '../platform/payload.ts'
import { type Handler, type HttpAnswer, sendAnswer } from '../platform/server.ts'
import type { StoredFile } from './chat.ts'
import type { TelegramFault } from './fault.ts'
import { fileAt } from './file.ts'
import { methodNamed } from './methods.ts'
import { badRequest, Refusal, tooMany } from './refusal.ts'
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

interface Answer extends HttpAnswer {
  readonly description?: string
}

const page =
  '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n'

/**
 * Returns a handler that speaks the Bot API, and serves the files of `getFile`. Logs calls with the right token.
 * Answers 404 to other paths, 401 to another token, and nothing to a client that disconnected.
 */
export function createBotApi(state: TelegramState, token: string, log: CallLog<TelegramCall, TelegramFault>): Handler {
  return async (request, response, gone) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/'
    const [, fileToken, filePath] = /^.*?\/file\/bot([^/]+)\/(.+)$/.exec(path) ?? []
    if (filePath !== undefined) return sendFile(response, fileToken === token ? fileAt(state, filePath) : undefined)
    const [, root = '', givenToken, method] = /^(.*)\/bot([^/]+)\/(\w+)$/.exec(path) ?? []
    if (method === undefined) return sendAnswer(response, refused(new Refusal(404, describe(404))))
    if (givenToken !== token) return sendAnswer(response, refused(new Refusal(401, describe(401))))
    const read = await readPayload(request).catch((error: Error) => error)
    if (gone.aborted) return
    const payload = read instanceof Error ? {} : read
    const chatId = numberIn(payload, 'chat_id')
    const call: TelegramCall = {
      at: state.clock.now(),
      ...(root !== '' && { root }),
      method,
      chatId,
      ok: false,
      payload: withFileSizes(payload),
    }
    await log.answer<Answer>(response, call, {
      run: async () => {
        if (read instanceof Error) throw read
        const run = methodNamed(method, state)
        if (!run) throw new Refusal(404, 'Not Found: method not found')
        return { status: 200, body: JSON.stringify({ ok: true, result: await run(state, read, gone) }) }
      },
      refused,
      answerTo: (fault) => answerTo(fault, call),
      outcomeOf: ({ status, description }) => ({
        ok: status === 200,
        status,
        ...(description !== undefined && { description }),
      }),
    })
  }

  /**
   * Returns the response to a fault: a 429, an error with its usual description by default, or a page. A 429 also
   * freezes the budget that it is for.
   */
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

  /** Freezes the chat of the call as a real 429 does, else the bot if the call sends something, else nothing. */
  function freeze({ method, chatId }: TelegramCall, seconds: number): void {
    if (method === 'sendChatAction' && chatId !== undefined) state.budget.freeze(typingScopeName(chatId), seconds)
    else if (chatId !== undefined) state.budget.freeze(scopeName(chatId), seconds)
    else if (method.startsWith('send')) state.budget.freeze(botScopeName, seconds)
  }
}

/**
 * Returns the error response. An error that isn't a refusal is a bug in the fake, and becomes a 500 so that the test
 * fails.
 */
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

/** Sends the file's content, or a 404 for undefined. https://core.telegram.org/bots/api#getfile */
function sendFile(response: ServerResponse, file: StoredFile | undefined): void {
  if (!file) return sendAnswer(response, refused(new Refusal(404, describe(404))))
  response.writeHead(200, { 'content-type': 'application/octet-stream' })
  response.end(file.bytes)
}

/**
 * Resolves with the fields of a JSON body or a form, over those of the query. Rejects with a `Refusal` if the body is
 * not JSON, or if a text can't be encoded.
 */
async function readPayload(request: IncomingMessage): Promise<Fields> {
  const body = await readBody(request)
  const query = new URL(request.url ?? '/', 'http://loopback').searchParams
  const payload = { ...Object.fromEntries(query), ...(readForm(body, request) ?? readJson(body.toString('utf8'))) }
  if (hasHalfPair(payload)) throw badRequest('strings must be encoded in UTF-8')
  return payload
}

/**
 * Returns the fields of a JSON text. Empty for an empty text, and for JSON that isn't an object. Throws a `Refusal`
 * if it isn't JSON.
 */
function readJson(text: string): Fields {
  if (text === '') return {}
  const value = parseJson(text)
  if (value === undefined) throw badRequest("can't parse JSON object")
  return fieldsOf(value)
}

/** Returns the payload for the log of calls, with the size in place of each file's content. */
function withFileSizes(payload: Fields): Fields {
  const entries = Object.entries(payload).map(([name, value]) => [
    name,
    isFile(value) ? { name: value.name, bytes: value.bytes.length } : value,
  ])
  return Object.fromEntries(entries)
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

/** The description that Telegram usually sends with an error code, else "Error" and the code. */
function describe(code: number): string {
  return usualDescriptions[code] ?? `Error ${code}`
}
