import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Clock } from '../../clock.ts'
import { fieldsOf } from '../../recorded/frames.ts'
import { readMultipart } from '../../telegram/multipart.ts'
import type { CloudCallKind, CloudFault, CloudFaultPlan } from './fault.ts'
import { CloudRefusal } from './refusal.ts'
import { type CloudState, refusal } from './state.ts'

/** A call as the server saw it. */
export interface WhatsAppCall {
  /** When it arrived, in ms since the epoch by the fake's clock. */
  readonly at: number
  /** The kind of call. */
  readonly kind: CloudCallKind
  /** The person that it is about. Undefined for calls without one. */
  readonly to: string | undefined
  /** The server's status, even if the client got no answer. Absent if the call was never taken. */
  readonly status?: number
  /** Meta's error code of a refusal. */
  readonly code?: number
  /** The fault that hit it. Absent if none did. */
  readonly fault?: CloudFault['type']
  /** Its fields as received. */
  readonly fields: Readonly<Record<string, unknown>>
}

export interface CloudServerOptions {
  readonly state: CloudState
  readonly token: string
  readonly phoneNumberId: string
  readonly plan: CloudFaultPlan
  /** The time of the `Date` header. If undefined, responses have no such header. */
  readonly clock: Clock | undefined
  /** Every call is added here, and replaced when it is answered. */
  readonly calls: WhatsAppCall[]
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly code?: number
}

/** Speaks the Cloud API over HTTP. */
export function createCloudServer(options: CloudServerOptions): Server {
  const { state, token, phoneNumberId, plan, calls, clock } = options
  const numberRead: Call = { fields: {}, run: () => ({ id: phoneNumberId, display_phone_number: '+1 555-000-1111' }) }
  const server = createServer((request, response) => {
    response.on('error', () => {})
    take(request, response).catch(() => response.destroy())
  })
  // Never times out idle connections: closing one just as it is reused would be an unplanned fault.
  server.keepAliveTimeout = 0
  return server

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Node would use the computer's clock. https://www.rfc-editor.org/rfc/rfc9110#field.date
    if (clock !== undefined) response.setHeader('date', new Date(clock.now()).toUTCString())
    else response.sendDate = false
    const [, id, path] = /^\/v\d+\.\d+\/([^/]+)\/(messages|media)$/.exec(request.url ?? '') ?? []
    const body = await bodyOf(request)
    if (request.headers.authorization !== `Bearer ${token}`) return send(response, refused(expired))
    const isNumber = request.method === 'GET' && pathOf(request) === phoneNumberId
    if (request.method === 'GET' && !isNumber) return readFrom(request, response)
    const isPost = id === phoneNumberId && path !== undefined && request.method === 'POST'
    if (!isNumber && !isPost) return send(response, refused(unknown))
    const { fields, run } = isNumber ? numberRead : path === 'media' ? mediaIn(request, body) : messageIn(body)
    const kind = isNumber ? 'number' : path === 'media' ? 'media' : kindOf(fields)
    const to =
      typeof fields.to === 'string' ? fields.to : typeof fields.recipient === 'string' ? fields.recipient : undefined
    const fault = plan.next(kind, to)
    const call: WhatsAppCall = { at: state.clock.now(), kind, to, fields, ...(fault && { fault: fault.type }) }
    const index = calls.push(call) - 1
    const record = (answer: Answer): Answer => {
      const { status, code } = answer
      calls[index] = { ...call, status, ...(code !== undefined && { code }) }
      return answer
    }
    suffer(fault, { response, run: (lost) => record(done(() => run(lost))), record })
  }

  /** https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media */
  function readFrom(request: IncomingMessage, response: ServerResponse): void {
    const path = pathOf(request)
    const file = state.inbox.get(decodeURIComponent(path.replace(/^attachments\//, '')))
    if (!file) return send(response, refused(unknown))
    if (path.startsWith('attachments/')) {
      response.writeHead(200, { 'content-type': file.mime })
      response.end(file.bytes)
      return
    }
    const at = `http://${request.headers.host}/attachments/${path}`
    const place = {
      url: at,
      mime_type: file.mime,
      file_size: file.bytes.length,
      id: path,
      messaging_product: 'whatsapp',
    }
    return send(response, { status: 200, body: JSON.stringify(place) })
  }

  function messageIn(body: Buffer): Call {
    const fields = fieldsOf(parsed(body))
    return { fields, run: (lost) => state.messages(fields, lost) }
  }

  function mediaIn(request: IncomingMessage, body: Buffer): Call {
    const boundary =
      /^multipart\/form-data;.*boundary="?([^";]+)/i.exec(request.headers['content-type'] ?? '')?.[1] ?? ''
    const { fields, files } = readMultipart(body, boundary)
    return { fields, run: () => state.media(fields.type ?? '', files.get('file')) }
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  return /^\/(?:v\d+\.\d+\/)?([^?]*)/.exec(url)?.[1] ?? ''
}

interface Call {
  readonly fields: Readonly<Record<string, unknown>>
  /** `lost`: the error with which a message is not delivered although it is taken. */
  readonly run: (lost?: number) => unknown
}

interface Suffering {
  readonly response: ServerResponse
  readonly run: (lost?: number) => Answer
  readonly record: (answer: Answer) => Answer
}

/** Applies a fault to a call. */
function suffer(fault: CloudFault | undefined, { response, run, record }: Suffering): void {
  switch (fault?.type) {
    case undefined:
      return send(response, run())
    case 'rate-limited':
      return send(response, record(refused(refusal(fault.code ?? 131056))))
    case 'refused': {
      const { status, code, details = '' } = fault
      const answer = refused(new CloudRefusal(code, `(#${code}) ${refusal(code).message}`, { status, details }))
      if (fault.isTaken) run()
      else record(answer)
      return send(response, answer)
    }
    case 'undelivered':
      return send(response, run(fault.code))
    case 'page':
      return send(
        response,
        record({ status: fault.status, body: '<html><body>Sorry, something went wrong.</body></html>' }),
      )
    case 'refuse':
      response.socket?.destroy()
      return
    case 'accept-then-drop':
      run()
      response.socket?.destroy()
      return
    case 'stall':
      return
    case 'accept-then-stall':
      run()
      return
    default:
      return fault satisfies never
  }
}

const expired = new CloudRefusal(190, 'Error validating access token', { status: 401 })
const unknown = new CloudRefusal(100, 'Unsupported post request. Object with that id does not exist')

function kindOf(fields: Readonly<Record<string, unknown>>): CloudCallKind {
  if (fields.status !== undefined) return 'typing'
  const kinds: readonly CloudCallKind[] = ['text', 'interactive', 'document', 'reaction']
  return kinds.find((kind) => kind === fields.type) ?? 'other'
}

function done(run: () => unknown): Answer {
  try {
    return { status: 200, body: JSON.stringify(run()) }
  } catch (error) {
    return refused(error)
  }
}

/** Any error that isn't a refusal is a bug in the fake, which a test should see. */
function refused(error: unknown): Answer {
  const { status, code, message, details } =
    error instanceof CloudRefusal ? error : new CloudRefusal(1, `The fake failed: ${String(error)}`, { status: 500 })
  const data = details === '' ? {} : { error_data: { messaging_product: 'whatsapp', details } }
  const body = JSON.stringify({ error: { message, type: 'OAuthException', code, ...data, fbtrace_id: 'fake' } })
  return { status, code, body }
}

function send(response: ServerResponse, { status, body }: Answer): void {
  if (response.destroyed) return
  response.writeHead(status, { 'content-type': body.startsWith('<') ? 'text/html' : 'application/json' })
  response.end(body)
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
