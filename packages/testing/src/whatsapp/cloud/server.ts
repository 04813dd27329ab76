import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Fields, fieldsOf } from '../../fields.ts'
import type { CallLog } from '../../platform/calls.ts'
import type { AnswerFault } from '../../platform/fault.ts'
import { isFile, parseJson, readBody, readForm, textIn } from '../../platform/payload.ts'
import { type Handler, type HttpAnswer, sendAnswer } from '../../platform/server.ts'
import type { CloudCallKind, CloudFault } from './fault.ts'
import { CloudRefusal } from './refusal.ts'
import type { FakeWhatsApp } from './start.ts'
import { type CloudState, type DeliveryFailure, refusalFor } from './state.ts'

/** A call as the server saw it. */
export interface WhatsAppCall {
  /** When it arrived, in ms since the epoch by the fake's clock. */
  readonly at: number
  /** The kind of call. */
  readonly kind: CloudCallKind
  /** The person that it is about. Undefined for calls without one. */
  readonly to: string | undefined
  /** The server's status, even if the client got no answer. Absent if the call was never accepted. */
  readonly status?: number
  /** Meta's error code of a refusal. */
  readonly code?: number
  /** The fault that hit it. Absent if none did. */
  readonly fault?: CloudFault['type']
  /** Its fields as received. */
  readonly fields: Readonly<Record<string, unknown>>
}

interface Answer extends HttpAnswer {
  readonly code?: number
}

/**
 * Returns a handler that speaks the Cloud API for this number, and serves people's files. Answers another token and an
 * unknown path with a refusal, without logging the call. Its responses have a `Date` header if `hasDates`.
 */
export function createCloudApi(
  state: CloudState,
  { token, phoneNumberId }: Pick<FakeWhatsApp, 'token' | 'phoneNumberId'>,
  log: CallLog<WhatsAppCall, CloudFault>,
  hasDates: boolean,
): Handler {
  const readNumber: CallToDo = {
    fields: {},
    run: () => ({ id: phoneNumberId, display_phone_number: '+1 555-000-1111' }),
  }
  return async (request, response) => {
    // Node would use the computer's clock. https://www.rfc-editor.org/rfc/rfc9110#field.date
    if (hasDates) response.setHeader('date', new Date(state.clock.now()).toUTCString())
    else response.sendDate = false
    const [, id, path] = /^\/v\d+\.\d+\/([^/]+)\/(messages|media)$/.exec(request.url ?? '') ?? []
    const body = await readBody(request)
    if (request.headers.authorization !== `Bearer ${token}`) return sendAnswer(response, refused(expired))
    const isNumber = request.method === 'GET' && pathOf(request) === phoneNumberId
    if (request.method === 'GET' && !isNumber) return answerMediaRead(request, response)
    const isPost = id === phoneNumberId && path !== undefined && request.method === 'POST'
    if (!isNumber && !isPost) return sendAnswer(response, refused(unknown))
    const { fields, run } = isNumber ? readNumber : path === 'media' ? mediaCall(request, body) : messageCall(body)
    const kind = isNumber ? 'number' : path === 'media' ? 'media' : kindOf(fields)
    const to = textIn(fields, 'to') ?? textIn(fields, 'recipient')
    const call: WhatsAppCall = { at: state.clock.now(), kind, to, fields }
    await log.answer<Answer>(response, call, {
      run: (fault) => ({
        status: 200,
        body: JSON.stringify(run(fault?.type === 'undelivered' ? fault : undefined)),
      }),
      refused,
      answerTo,
      outcomeOf: ({ status, code }) => ({ status, ...(code !== undefined && { code }) }),
    })
  }

  /**
   * Answers with the address of a person's file, or with its content at that address. Refuses an unknown one.
   * https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media
   */
  function answerMediaRead(request: IncomingMessage, response: ServerResponse): void {
    const path = pathOf(request)
    const file = state.inbox.get(decodeURIComponent(path.replace(/^attachments\//, '')))
    if (!file) return sendAnswer(response, refused(unknown))
    if (path.startsWith('attachments/')) {
      response.writeHead(200, { 'content-type': file.mime })
      response.end(file.bytes)
      return
    }
    const url = `http://${request.headers.host}/attachments/${path}`
    const media = {
      url,
      mime_type: file.mime,
      file_size: file.bytes.length,
      id: path,
      messaging_product: 'whatsapp',
    }
    return sendAnswer(response, { status: 200, body: JSON.stringify(media) })
  }

  /** Returns the call for a message, a reaction or a read receipt in JSON. Without fields if the body isn't JSON. */
  function messageCall(body: Buffer): CallToDo {
    const fields = fieldsOf(parseJson(body.toString('utf8')))
    return { fields, run: (failure) => state.sendMessage(fields, failure) }
  }

  /** Returns the call for an upload in a form. Without a file if the body is not a form. */
  function mediaCall(request: IncomingMessage, body: Buffer): CallToDo {
    const { file, ...fields } = readForm(body, request) ?? {}
    return { fields, run: () => state.uploadMedia(textIn(fields, 'type') ?? '', isFile(file) ? file : undefined) }
  }
}

/** The path of a request without the version and the query. */
function pathOf({ url = '' }: IncomingMessage): string {
  return /^\/(?:v\d+\.\d+\/)?([^?]*)/.exec(url)?.[1] ?? ''
}

/** A call whose body was read. */
interface CallToDo {
  readonly fields: Fields
  /** `failure` is that of a message which is accepted and then not delivered. */
  readonly run: (failure?: DeliveryFailure) => unknown
}

/**
 * Returns the response to a fault: a 429, by default for the pair, an error, or a page. Undefined for a message that
 * is accepted like any other, and not delivered.
 */
function answerTo(fault: AnswerFault<CloudFault>): Answer | undefined {
  switch (fault.type) {
    case 'rate-limited':
      return refused(refusalFor(fault.code ?? 131056))
    case 'refused': {
      const { status, code, details = '' } = fault
      return refused(new CloudRefusal(code, `(#${code}) ${refusalFor(code).message}`, { status, details }))
    }
    case 'undelivered':
      return undefined
    case 'page':
      return { status: fault.status, body: '<html><body>Sorry, something went wrong.</body></html>', type: 'text/html' }
    default:
      return fault satisfies never
  }
}

const expired = new CloudRefusal(190, 'Error validating access token', { status: 401 })
const unknown = new CloudRefusal(100, 'Unsupported post request. Object with that id does not exist')

/** The kind of a message's call. "typing" for a read receipt, and "other" for a template. */
function kindOf(fields: Fields): CloudCallKind {
  if (fields.status !== undefined) return 'typing'
  const kinds: readonly CloudCallKind[] = ['text', 'interactive', 'document', 'image', 'reaction']
  return kinds.find((kind) => kind === fields.type) ?? 'other'
}

/**
 * Returns the error response. An error that isn't a refusal is a bug in the fake, and becomes a 500 so that the test
 * fails.
 */
function refused(error: unknown): Answer {
  const { status, code, message, details } =
    error instanceof CloudRefusal ? error : new CloudRefusal(1, `The fake failed: ${String(error)}`, { status: 500 })
  const data = details === '' ? {} : { error_data: { messaging_product: 'whatsapp', details } }
  const body = JSON.stringify({ error: { message, type: 'OAuthException', code, ...data, fbtrace_id: 'fake' } })
  return { status, code, body }
}
