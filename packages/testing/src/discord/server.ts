import type { IncomingMessage, ServerResponse } from 'node:http'
import { fieldsOf } from '../fields.ts'
import type { WindowState } from '../platform/budget.ts'
import type { AnswerFault } from '../platform/fault.ts'
import { answerCall, type Handler, type HttpAnswer, sendAnswer } from '../platform/server.ts'
import type { Timers } from '../platform/timers.ts'
import type { DiscordFault, DiscordFaultPlan } from './fault.ts'
import { limits } from './limits.ts'
import { noPayload, readJson, readPayload } from './payload.ts'
import { Refusal, refusals } from './refusal.ts'
import { type Call, type DiscordCallName, type Found, routeOf } from './routes.ts'
import type { DiscordState } from './state.ts'

/** A received call and its response. */
export interface DiscordCall {
  /** When it arrived, in ms since the epoch by the fake's clock. */
  readonly at: number
  /** The kind of call. */
  readonly name: DiscordCallName
  /** The channel or thread that it is about. */
  readonly channelId: string
  /** The payload. Files are given by name. */
  readonly body: Readonly<Record<string, unknown>>
  /** The names of uploaded files. */
  readonly files: readonly string[]
  /** The server's status, even if the client got another answer or none. Absent if the call was not done. */
  readonly status?: number
  /** Discord's error code. */
  readonly code?: number
  /** The fault that hit it. Absent if none did. */
  readonly fault?: DiscordFault['type']
}

interface RestOptions {
  readonly state: DiscordState
  readonly token: string
  readonly plan: DiscordFaultPlan
  /** Every call is added here, and replaced when it is answered. */
  readonly calls: DiscordCall[]
  readonly timers: Timers
  /** Where the gateway is. */
  readonly gatewayUrl: () => string
}

interface Answer extends HttpAnswer {
  readonly code?: number
}

const page = '<html><body><h1>502 Bad Gateway</h1></body></html>'

/** Speaks Discord's REST API, under `/api/v10`. */
export function createRest({ state, token, plan, calls, timers, gatewayUrl }: RestOptions): Handler {
  return async (request, response) => {
    const { method = 'GET', url = '/' } = request
    const [before = '', query = ''] = url.split('?')
    const path = before.replace(/^\/api\/v10(?=\/)/, '')
    const isKnown = request.headers.authorization === `Bot ${token}`
    if (method === 'GET' && path === '/gateway/bot')
      return sendAnswer(response, isKnown ? done(gatewayOf(gatewayUrl())) : refused(refusals.unauthorized()))
    if (path.startsWith('/attachments/')) return sendFile(path, response)
    const own = ownRoute(method, path)
    if (own) return sendAnswer(response, isKnown ? await own(request) : refused(refusals.unauthorized()))
    const found = routeOf(method, path)
    if (!found) return sendAnswer(response, refused(refusals.notFound()))
    if (!found.route.isOpen && !isKnown) return sendAnswer(response, refused(refusals.unauthorized()))
    await take(found, new URLSearchParams(query), request, response)
  }

  async function take(
    found: Found,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { method = 'GET' } = request
    const read = await readPayload(request).catch((error: unknown) => refused(error))
    const payload = 'files' in read ? read : noPayload
    const { channelId } = found
    const { name } = found.route
    const fault = plan.next(name, channelId)
    const call: DiscordCall = {
      at: state.clock.now(),
      name,
      channelId,
      body: payload.fields,
      files: payload.files.map((file) => file.name),
      ...(fault && { fault: fault.type }),
    }
    const index = calls.push(call) - 1
    await answerCall({
      response,
      timers,
      fault,
      run: () => ('files' in read ? runIn(found, { query, method, payload: read }) : read),
      answerTo: (due) => answerTo(due, found),
      log: ({ status, code }) => {
        calls[index] = { ...call, status, ...(code !== undefined && { code }) }
      },
    })
  }

  /** Files need no token: their address has a signature. https://discord.com/developers/docs/reference#signed-attachment-cdn-urls */
  function sendFile(path: string, response: ServerResponse): void {
    const [, , channelId = '', postId = '', index = ''] = path.split('/')
    const file = state.channel(channelId)?.posts.get(postId)?.files[Number(index)]
    response.writeHead(file ? 200 : 404)
    response.end(file?.bytes)
  }

  /** Calls about the bot itself, which are in no channel. */
  function ownRoute(method: string, path: string): ((request: IncomingMessage) => Promise<Answer>) | undefined {
    // https://discord.com/developers/docs/resources/user#get-current-user
    if (method === 'GET' && path === '/users/@me') return async () => done({ ...state.me, bot: true })
    // https://discord.com/developers/docs/resources/application#get-current-application
    if (method === 'GET' && path === '/applications/@me') return async () => done({ id: state.me.id })
    if (method !== 'PUT' || path !== `/applications/${state.me.id}/commands`) return undefined
    return async (request) => {
      state.commands = commandsIn(await readJson(request))
      return done([])
    }
  }

  function answerTo(fault: AnswerFault<DiscordFault>, found: Found): Answer {
    switch (fault.type) {
      case 'rate-limited': {
        const { retryAfterS, scope = 'user' } = fault
        const frozen = scope === 'global' ? 'global' : bucketName(found)
        if (frozen) state.buckets.freeze(frozen, retryAfterS * 1000)
        return tooMany(retryAfterS * 1000, scope, scope === 'shared' ? 40062 : 0)
      }
      case 'status': {
        const { status, code = 0, message = 'Failed' } = fault
        return refused(new Refusal(status, code, message))
      }
      case 'html':
        return { status: 502, body: page, type: 'text/html' }
      default:
        return fault satisfies never
    }
  }

  function runIn(found: Found, given: Pick<Call, 'payload' | 'query' | 'method'>): Answer {
    const { route, ...place } = found
    const now = state.clock.now()
    const global = route.isOpen ? undefined : state.buckets.take('global', limits.global)
    if (global?.isEmpty) return tooMany(global.resetAfterMs, 'global')
    const allowance = route.bucket && state.allowances[route.bucket]
    const bucket = allowance && state.buckets.take(bucketName(found) ?? '', allowance)
    if (bucket?.isEmpty) return withBucket(tooMany(bucket.resetAfterMs, 'user'), bucket, now)
    const answer = answerOf(() => route.run({ state, ...given, ...place }))
    return bucket ? withBucket(answer, bucket, now) : answer
  }
}

function answerOf(run: () => unknown): Answer {
  try {
    return done(run())
  } catch (error) {
    return refused(error)
  }
}

/** Undefined becomes 204. */
function done(result: unknown): Answer {
  return result === undefined ? { status: 204 } : { status: 200, body: JSON.stringify(result) }
}

/** Any error that isn't a `Refusal` is a bug in the fake, and must fail the test. */
function refused(error: unknown): Answer {
  const { status, code, message, errors } =
    error instanceof Refusal ? error : new Refusal(500, 0, `The fake Discord failed: ${String(error)}`)
  return { status, code, body: JSON.stringify({ message, code, ...(errors && { errors }) }) }
}

/** `retry_after` is exact. The header is in whole seconds. */
function tooMany(waitMs: number, scope: 'user' | 'global' | 'shared', code = 0): Answer {
  const message = scope === 'shared' ? 'The resource is being rate limited.' : 'You are being rate limited.'
  const body = { message, retry_after: waitMs / 1000, global: scope === 'global', ...(code && { code }) }
  const headers = {
    'retry-after': String(Math.ceil(waitMs / 1000)),
    'x-ratelimit-scope': scope,
    ...(scope === 'global' && { 'x-ratelimit-global': 'true' }),
  }
  return { status: 429, body: JSON.stringify(body), headers, code }
}

/** One bucket per kind of call and channel. */
function bucketName({ route, channelId, rest }: Found): string | undefined {
  return route.bucket && `${route.bucket} ${channelId || rest}`
}

/** The bucket headers of each response. https://discord.com/developers/docs/topics/rate-limits#header-format */
function withBucket(answer: Answer, { name, limit, remaining, resetAfterMs }: WindowState, now: number): Answer {
  const headers = {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': ((now + resetAfterMs) / 1000).toFixed(3),
    'x-ratelimit-reset-after': (resetAfterMs / 1000).toFixed(3),
    // The same in all channels: the name identifies the kind of call.
    'x-ratelimit-bucket': Buffer.from(name.split(' ')[0] ?? '')
      .toString('hex')
      .padEnd(16, '0'),
  }
  return { ...answer, headers: { ...headers, ...answer.headers } }
}

function gatewayOf(url: string): unknown {
  const session_start_limit = { total: 1000, remaining: 999, reset_after: 0, max_concurrency: 1 }
  return { url, shards: 1, session_start_limit }
}

/**
 * The names of commands that replace all of an application's.
 * https://discord.com/developers/docs/interactions/application-commands#bulk-overwrite-global-application-commands
 */
function commandsIn(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length > 100) throw invalidCommands()
  return value.map(fieldsOf).map(({ name, description, type = 1 }) => {
    // https://discord.com/developers/docs/interactions/application-commands#application-command-object
    const isNamed = typeof name === 'string' && /^[-_\p{L}\p{N}]{1,32}$/u.test(name) && name === name.toLowerCase()
    const isDescribed = typeof description === 'string' && description.length >= 1 && description.length <= 100
    if (!isNamed || !isDescribed || type !== 1) throw invalidCommands()
    return name
  })
}

function invalidCommands(): Refusal {
  return new Refusal(400, 50035, 'Invalid Form Body')
}
