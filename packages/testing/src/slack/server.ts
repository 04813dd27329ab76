import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Fields, fieldsOf } from '../fields.ts'
import type { CallLog } from '../platform/calls.ts'
import type { AnswerFault } from '../platform/fault.ts'
import { filesIn, parseJson, readBody, readForm, textIn } from '../platform/payload.ts'
import { type Handler, type HttpAnswer, sendAnswer } from '../platform/server.ts'
import type { SlackFault } from './fault.ts'
import { methodNamed } from './methods.ts'
import { Limited, Refusal } from './refusal.ts'
import { fileAt } from './shared-file.ts'
import { freeze, type SlackState, spend } from './state.ts'

/** A call as the server saw it. */
export interface SlackCall {
  /** When it arrived, in ms since the epoch by the fake's clock. */
  readonly at: number
  /** The Web API's name of the method: `chat.postMessage`, … */
  readonly method: string
  /** The channel that it is about. Undefined for methods without one. */
  readonly channel: string | undefined
  /** Whether it was done, even if the client got no answer. */
  readonly ok: boolean
  /** The server's status, even if the client got another answer or none. Absent if the call was not done. */
  readonly status?: number
  /** The error of a refusal. */
  readonly error?: string
  /** The fault that hit it. Absent if none did. */
  readonly fault?: SlackFault['type']
  /** Its fields as received: lists and objects as JSON. */
  readonly payload: Readonly<Record<string, unknown>>
}

/** The token of the bot, and that of the app, for Socket Mode only. */
interface Tokens {
  readonly token: string
  readonly appToken: string
}

interface Answer extends HttpAnswer {
  readonly error?: string
}

const page = '<html><head><title>Server Error | Slack</title></head><body><h1>Server Error</h1></body></html>'

/**
 * Returns a handler that speaks the Web API, and takes and serves files. Answers 404 to another path. `openSocket`
 * makes the URL of a new connection.
 */
export function createWebApi(
  state: SlackState,
  { token, appToken }: Tokens,
  log: CallLog<SlackCall, SlackFault>,
  openSocket: () => string,
): Handler {
  return async (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/'
    const [, file] = /^\/upload\/(\w+)$/.exec(path) ?? []
    if (file !== undefined) return await storeUpload(file, request, response)
    if (path.startsWith('/files-pri/')) return sendFile(path, request, response)
    const [, method] = /^\/api\/([\w.]+)$/.exec(path) ?? []
    if (method === undefined) return sendAnswer(response, { status: 404, body: page, type: 'text/html' })
    await answerMethod(method, request, response)
  }

  /**
   * Checks the token, and logs and answers a call within its budget. A call with a wrong token is refused without
   * being logged. `apps.connections.open` needs the app's token, all others the bot's.
   */
  async function answerMethod(method: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const read = await readPayload(request).catch((error: Error) => error)
    const payload = read instanceof Error ? {} : read
    const channel = textIn(payload, 'channel') ?? textIn(payload, 'channel_id')
    const isOpening = method === 'apps.connections.open'
    if (request.headers.authorization !== `Bearer ${isOpening ? appToken : token}`)
      return sendAnswer(response, refused(new Refusal(request.headers.authorization ? 'invalid_auth' : 'not_authed')))
    const call: SlackCall = { at: state.clock.now(), method, channel, ok: false, payload }
    await log.answer<Answer>(response, call, {
      run: () => {
        if (read instanceof Error) throw read
        if (isOpening) return okAnswer({ url: openSocket() })
        const run = methodNamed(method)
        if (!run) throw new Refusal('unknown_method')
        spend(state, method, channel)
        return okAnswer(run(state, payload))
      },
      refused,
      answerTo: (fault) => answerTo(fault, call),
      outcomeOf: ({ status, error }) => ({
        ok: status === 200 && error === undefined,
        status,
        ...(error !== undefined && { error }),
      }),
    })
  }

  /** Returns the response to a fault: a 429, an error, or a page. A 429 also freezes the budget that it is for. */
  function answerTo(fault: AnswerFault<SlackFault>, { method, channel }: SlackCall): Answer {
    switch (fault.type) {
      case 'rate-limited':
        freeze(state, method, channel, fault.retryAfterS)
        return refused(new Limited(fault.retryAfterS))
      case 'error':
        return refused(new Refusal(fault.error))
      case 'status':
        return { status: fault.code, body: page, type: 'text/html', error: `status ${fault.code}` }
      case 'html':
        return { status: 200, body: page, type: 'text/html', error: 'a page' }
      default:
        return fault satisfies never
    }
  }

  /**
   * Sends the file at a path, or a page with a 404. Without the token, Slack redirects to the log-in page.
   * https://docs.slack.dev/messaging/working-with-files
   */
  function sendFile(path: string, request: IncomingMessage, response: ServerResponse): void {
    const file = fileAt(state, decodeURI(path))
    if (request.headers.authorization !== `Bearer ${token}`)
      response.writeHead(302, { location: `${state.addressOf()}/?redir` })
    else response.writeHead(file ? 200 : 404, { 'content-type': file?.mime ?? 'text/html' })
    response.end(response.statusCode === 200 ? file?.bytes : page)
  }

  /**
   * Takes the bytes of an upload, which are the body or the first file in a form. Answers 400, and takes none, if their
   * number is another than announced, or if none was announced.
   */
  async function storeUpload(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request)
    const form = readForm(body, request)
    const bytes = form === undefined ? new Uint8Array(body) : (filesIn(form)[0]?.bytes ?? new Uint8Array())
    const upload = state.uploads.get(id)
    const isWhole = upload !== undefined && upload.length === bytes.length
    if (isWhole) upload.bytes = bytes
    const text = isWhole ? `OK - ${bytes.length}` : 'no'
    sendAnswer(response, { status: isWhole ? 200 : 400, body: text, type: 'text/plain' })
  }
}

/** The answer to a method that was done. */
function okAnswer(result: Fields): Answer {
  return { status: 200, body: JSON.stringify({ ok: true, ...result }) }
}

/**
 * Returns the error response: a 429 for `Limited`, and a 200 with the error for a refusal. Any other error is a bug
 * in the fake, and becomes a 500 so that the test fails.
 */
function refused(error: unknown): Answer {
  if (error instanceof Limited) {
    const { retryAfterS, message } = error
    const body = JSON.stringify({ ok: false, error: message })
    return { status: 429, headers: { 'retry-after': String(retryAfterS) }, error: message, body }
  }
  if (!(error instanceof Refusal)) {
    const message = `the fake Slack failed: ${String(error)}`
    return { status: 500, error: message, body: message, type: 'text/plain' }
  }
  const { message, details } = error
  const more = details.length > 0 ? { response_metadata: { messages: details } } : {}
  return { status: 200, error: message, body: JSON.stringify({ ok: false, error: message, ...more }) }
}

/**
 * Resolves with the fields of a JSON body or a form, in which lists and objects are JSON. Empty for an empty body, and
 * for malformed JSON. Rejects with a `Refusal` for another type.
 */
async function readPayload(request: IncomingMessage): Promise<Fields> {
  const body = await readBody(request)
  const form = readForm(body, request)
  if (form) return form
  if (/^application\/json/i.test(request.headers['content-type'] ?? ''))
    return fieldsOf(parseJson(body.toString('utf8')))
  if (body.length === 0) return {}
  throw new Refusal('invalid_post_type')
}
