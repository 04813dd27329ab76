import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { SlackFault, SlackFaultPlan } from './fault.ts'
import { methodNamed } from './methods/all.ts'
import { type Payload, readFileBytes, readPayload, textIn } from './payload.ts'
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
  /** The server's status, even if the client got another answer or none. Absent if the call was never taken. */
  readonly status?: number
  /** The error of a refusal. */
  readonly error?: string
  /** The fault that hit it. Absent if none did. */
  readonly fault?: SlackFault['type']
  /** Its fields as received: lists and objects as JSON. */
  readonly payload: Payload
}

export interface ServerOptions {
  readonly state: SlackState
  readonly token: string
  /** The app's token, for Socket Mode only. */
  readonly appToken: string
  readonly plan: SlackFaultPlan
  /** Every call is added here, and replaced when it is answered. */
  readonly calls: SlackCall[]
  /** Waits to end when the server closes. */
  readonly stops: Set<() => void>
  readonly addressOf: () => string
  /** Where an app connects. */
  readonly openSocket: () => string
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly type?: string
  readonly error?: string
  readonly retryAfterS?: number
}

const page = '<html><head><title>Server Error | Slack</title></head><body><h1>Server Error</h1></body></html>'

/** Speaks the Web API over HTTP. */
export function createWebApi(options: ServerOptions): Server {
  const { state, token, appToken, plan, calls, stops, addressOf, openSocket } = options
  const server = createServer((request, response) => {
    // The client may disconnect while a response is being written.
    response.on('error', () => {})
    take(request, response).catch(() => response.destroy())
  })
  // Never times out idle connections: closing one just as it is reused would be an unplanned fault.
  server.keepAliveTimeout = 0
  server.requestTimeout = 0
  return server

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0] ?? '/'
    const [, file] = /^\/upload\/(\w+)$/.exec(path) ?? []
    if (file !== undefined) return await takeFile(file, request, response)
    if (path.startsWith('/files-pri/')) return sendFile(path, request, response)
    const [, method] = /^\/api\/([\w.]+)$/.exec(path) ?? []
    if (method === undefined) return send(response, { status: 404, body: page, type: 'text/html' })
    const read = await readPayload(request).catch((error: unknown) => error)
    const payload: Payload = read instanceof Error ? {} : fieldsIn(read)
    const channel = textIn(payload, 'channel') ?? textIn(payload, 'channel_id')
    const isOpening = method === 'apps.connections.open'
    if (request.headers.authorization !== `Bearer ${isOpening ? appToken : token}`)
      return send(response, refused(new Refusal(request.headers.authorization ? 'invalid_auth' : 'not_authed')))
    const fault = plan.next(method, channel)
    const call: SlackCall = {
      ...{ at: state.clock.now(), method, channel, ok: false, payload },
      ...(fault === undefined ? {} : { fault: fault.type }),
    }
    const index = calls.push(call) - 1
    const record = (answer: Answer): Answer => {
      const { status, error } = answer
      calls[index] = {
        ...call,
        status,
        ok: status === 200 && error === undefined,
        ...(error !== undefined && { error }),
      }
      return answer
    }
    const run = async (): Promise<Answer> => record(read instanceof Error ? refused(read) : done(method, payload))
    await suffer(fault, { call, response, run, record })
  }

  /** Applies a fault to a call. */
  async function suffer(fault: SlackFault | undefined, { call, response, run, record }: Suffering): Promise<void> {
    switch (fault?.type) {
      case undefined:
        return send(response, await run())
      case 'rate-limited': {
        const { method, channel } = call
        freeze(state, method, { channel, seconds: fault.retryAfterS })
        return send(response, record(refused(new Limited(fault.retryAfterS))))
      }
      case 'error': {
        if (fault.isTaken) await run()
        const answer = refused(new Refusal(fault.error))
        return send(response, fault.isTaken ? answer : record(answer))
      }
      case 'status': {
        if (fault.isTaken) await run()
        const answer = { status: fault.code, body: page, type: 'text/html', error: `status ${fault.code}` }
        return send(response, fault.isTaken ? answer : record(answer))
      }
      case 'html':
        return send(response, record({ status: 200, body: page, type: 'text/html', error: 'a page' }))
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

  function done(method: string, payload: Payload): Answer {
    try {
      if (method === 'apps.connections.open') return answered({ url: openSocket() })
      const run = methodNamed(method)
      if (!run) throw new Refusal('unknown_method')
      spend(state, method, textIn(payload, 'channel') ?? textIn(payload, 'channel_id'))
      return answered(run(state, payload, addressOf()))
    } catch (error) {
      return refused(error)
    }
  }

  /** The bytes of an upload, sent to a secret URL. */
  /** Without the token, Slack redirects to the log-in page. https://docs.slack.dev/messaging/working-with-files */
  function sendFile(path: string, request: IncomingMessage, response: ServerResponse): void {
    const file = fileAt(state, decodeURI(path))
    if (request.headers.authorization !== `Bearer ${token}`)
      response.writeHead(302, { location: `${addressOf()}/?redir` })
    else response.writeHead(file ? 200 : 404, { 'content-type': file?.mime ?? 'text/html' })
    response.end(response.statusCode === 200 ? file?.bytes : page)
  }

  async function takeFile(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await readFileBytes(request)
    const upload = state.uploads.get(id)
    const isWhole = upload !== undefined && upload.length === bytes.length
    if (isWhole) upload.bytes = bytes
    send(response, { status: isWhole ? 200 : 400, body: isWhole ? `OK - ${bytes.length}` : 'no', type: 'text/plain' })
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
  readonly call: SlackCall
  readonly response: ServerResponse
  readonly run: () => Promise<Answer>
  readonly record: (answer: Answer) => Answer
}

function answered(result: Readonly<Record<string, unknown>>): Answer {
  return { status: 200, body: JSON.stringify({ ok: true, ...result }) }
}

/** Any error that isn't a refusal is a bug in the fake, which a test should see. */
function refused(error: unknown): Answer {
  if (error instanceof Limited) {
    const { retryAfterS, message } = error
    return { status: 429, retryAfterS, error: message, body: JSON.stringify({ ok: false, error: message }) }
  }
  if (!(error instanceof Refusal)) {
    const words = `the fake Slack failed: ${String(error)}`
    return { status: 500, error: words, body: words, type: 'text/plain' }
  }
  const { message, details } = error
  const more = details.length > 0 ? { response_metadata: { messages: details } } : {}
  return { status: 200, error: message, body: JSON.stringify({ ok: false, error: message, ...more }) }
}

function send(response: ServerResponse, { status, body, type = 'application/json', retryAfterS }: Answer): void {
  if (response.destroyed) return
  const wait = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }
  response.writeHead(status, { 'content-type': type, ...wait })
  response.end(body)
}

function fieldsIn(read: unknown): Payload {
  return typeof read === 'object' && read !== null ? { ...read } : {}
}
