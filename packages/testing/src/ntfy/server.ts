import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Fields, fieldsOf } from '../fields.ts'
import type { CallLog } from '../platform/calls.ts'
import type { AnswerFault, ConnectionFault, FaultTimes } from '../platform/fault.ts'
import { parseJson, readBody } from '../platform/payload.ts'
import { type Handler, type HttpAnswer, sendAnswer } from '../platform/server.ts'
import { disallowedTopics, limits, topicPattern } from './limits.ts'
import { Refusal } from './refusal.ts'

/** A failure of a publish. */
export type NtfyFault = FaultTimes &
  (
    | ConnectionFault
    /** 429, because of too many requests. Nothing was done. A proxy may add `Retry-After`, the server itself does not. */
    | { readonly type: 'rate-limited'; readonly retryAfterS?: number }
    /** 429, because the messages of the day are used up. Nothing was done. */
    | { readonly type: 'quota' }
    /** A status of a proxy, with a page. Nothing was done, unless it `isTaken`. */
    | { readonly type: 'status'; readonly code: number; readonly isTaken?: boolean }
    /** Leads to another address. Nothing was done. */
    | { readonly type: 'redirect'; readonly to: string }
  )

/** A publish as the server saw it. */
export interface NtfyCall {
  /** When it arrived, in ms since the epoch by the fake's clock. */
  readonly at: number
  /** Empty if the body names none. */
  readonly topic: string
  /** Whether it was done, even if the client got no answer. */
  readonly ok: boolean
  /** The server's status. Absent if the call was not done. */
  readonly status?: number
  /** The fault that hit it. Absent if none did. */
  readonly fault?: NtfyFault['type']
  /** The fields of its body. */
  readonly payload: Readonly<Record<string, unknown>>
  /** Its headers. */
  readonly headers: Readonly<Record<string, unknown>>
}

/** A notification as the phones that subscribe to a topic show it. */
export interface NtfyMessage {
  /** The server's id. */
  readonly id: string
  /** Empty without one. */
  readonly title: string
  /** Never empty: `triggered` without one. */
  readonly message: string
  /** 1 to 5. */
  readonly priority: number
  /** Names of signs, or other words. */
  readonly tags: readonly string[]
  /** What a press opens. Undefined without. */
  readonly click: string | undefined
  /** A later message with the same takes its place. Undefined without. */
  readonly sequenceID: string | undefined
}

/** What the server knows, and how it is set up. */
export interface NtfyState {
  readonly token: string | undefined
  readonly knowsSequences: boolean
  /** Takes a request from the budget. Throws a `Refusal` if there is none. */
  spend(): void
  /** Shows a message on the phones. */
  show(topic: string, message: NtfyMessage): void
}

const page = '<html><body><h1>Bad gateway</h1></body></html>'

/** Returns a handler for publishes in JSON, and for the check of the server's health. */
export function createNtfyApi(state: NtfyState, log: CallLog<NtfyCall, NtfyFault>, now: () => number): Handler {
  let messages = 0
  return async (request, response) => {
    const path = (request.url ?? '/').split('?')[0]
    if (path === '/v1/health') return sendAnswer(response, healthOf(request))
    if (path === '/' && (request.method === 'POST' || request.method === 'PUT')) return await take(request, response)
    sendAnswer(response, refused(new Refusal(40401)))
  }

  /** Returns the answer to a health check: a wrong token is refused on each path. [source: `maybeAuthenticate`] */
  function healthOf(request: IncomingMessage): HttpAnswer {
    try {
      authorize(request)
      return { status: 200, body: JSON.stringify({ healthy: true }) }
    } catch (error) {
      return refused(error)
    }
  }

  /** Throws a `Refusal` for a wrong token. Returns whether there was one. */
  function authorize({ headers }: IncomingMessage): boolean {
    if (headers.authorization === undefined || state.token === undefined) return false
    if (headers.authorization !== `Bearer ${state.token}`) throw new Refusal(40101)
    return true
  }

  /** Logs and answers a publish. */
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request)
    const payload = fieldsOf(parseJson(body.toString('utf8')))
    const topic = typeof payload.topic === 'string' ? payload.topic : ''
    const call: NtfyCall = { at: now(), topic, ok: false, payload, headers: request.headers }
    await log.answer<HttpAnswer>(response, call, {
      run: () => {
        const hasToken = authorize(request)
        if (body.length >= limits.body) throw new Refusal(41303)
        if (parseJson(body.toString('utf8')) === undefined) throw new Refusal(40024)
        if (!topicPattern.test(topic)) throw new Refusal(40009)
        if (disallowedTopics.has(topic)) throw new Refusal(40010)
        state.spend()
        if (state.token !== undefined && !hasToken) throw new Refusal(40301)
        return publish(topic, payload)
      },
      refused,
      answerTo,
      outcomeOf: ({ status }) => ({ ok: status === 200, status }),
    })
  }

  /** Publishes a message, and returns the answer with its fields. */
  function publish(topic: string, payload: Fields): HttpAnswer {
    const { title, message, priority = 3, tags, click, sequence_id: sequenceID } = payload
    if (typeof priority !== 'number' || priority < 1 || priority > 5) throw new Refusal(40007)
    const text = typeof message === 'string' && message !== '' ? message.trim() : 'triggered'
    if (Buffer.byteLength(text) >= limits.message) throw new Refusal(40014)
    messages += 1
    const shown: NtfyMessage = {
      id: `msg${messages}`,
      title: typeof title === 'string' ? title : '',
      message: text,
      priority,
      tags: Array.isArray(tags) ? tags.map(String) : [],
      click: typeof click === 'string' ? click : undefined,
      sequenceID: state.knowsSequences && typeof sequenceID === 'string' ? sequenceID : undefined,
    }
    state.show(topic, shown)
    const { id, sequenceID: sequence } = shown
    const fields = { id, time: Math.floor(now() / 1000), event: 'message', topic, message: text }
    return {
      status: 200,
      body: JSON.stringify({ ...fields, ...(sequence !== undefined && { sequence_id: sequence }) }),
    }
  }
}

/** Returns the answer for a fault. */
function answerTo(fault: AnswerFault<NtfyFault>): HttpAnswer {
  switch (fault.type) {
    case 'rate-limited': {
      const headers = fault.retryAfterS === undefined ? {} : { 'retry-after': String(fault.retryAfterS) }
      return { ...refused(new Refusal(42901)), headers }
    }
    case 'quota':
      return refused(new Refusal(42908))
    case 'status':
      return { status: fault.code, body: page, type: 'text/html' }
    case 'redirect':
      return { status: 307, headers: { location: fault.to } }
    default:
      return fault satisfies never
  }
}

/** Returns the error response. Any other error than a `Refusal` is a bug in the fake, and becomes a 500. */
function refused(error: unknown): HttpAnswer {
  const { status, code, message } = error instanceof Refusal ? error : new Refusal(50001)
  return { status, body: JSON.stringify({ code, http: status, error: message }) }
}
