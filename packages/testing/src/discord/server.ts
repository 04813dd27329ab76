import type { IncomingMessage, ServerResponse } from 'node:http'
import { fieldsOf } from '../fields.ts'
import type { WindowState } from '../platform/budget.ts'
import type { CallLog } from '../platform/calls.ts'
import type { AnswerFault } from '../platform/fault.ts'
import { filesIn, hasHalfPair, parseJson, readBody, readForm } from '../platform/payload.ts'
import { type Handler, type HttpAnswer, sendAnswer } from '../platform/server.ts'
import type { DiscordFault } from './fault.ts'
import { limits } from './limits.ts'
import { Refusal, refusals } from './refusal.ts'
import { type Call, type DiscordCallName, matchRoute, type RouteMatch } from './routes.ts'
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

interface Answer extends HttpAnswer {
  readonly code?: number
}

const page = '<html><body><h1>502 Bad Gateway</h1></body></html>'

/**
 * Returns a handler that speaks Discord's REST API, under `/api/v10`, and serves files. Answers 404 to an unknown
 * path, and 401 to another token. Logs only the calls of `routes.ts`.
 */
export function createRest(
  state: DiscordState,
  token: string,
  gatewayUrl: () => string,
  log: CallLog<DiscordCall, DiscordFault>,
): Handler {
  return async (request, response) => {
    const { method = 'GET', url = '/' } = request
    const [before = '', query = ''] = url.split('?')
    const path = before.replace(/^\/api\/v10(?=\/)/, '')
    const isAuthorized = request.headers.authorization === `Bot ${token}`
    if (method === 'GET' && path === '/gateway/bot')
      return sendAnswer(response, isAuthorized ? done(gatewayOf(gatewayUrl())) : refused(refusals.unauthorized()))
    if (path.startsWith('/attachments/')) return sendFile(path, response)
    const answerApplication = applicationRoute(method, path)
    if (answerApplication)
      return sendAnswer(
        response,
        isAuthorized ? await answerApplication(request).catch(refused) : refused(refusals.unauthorized()),
      )
    const match = matchRoute(method, path)
    if (!match) return sendAnswer(response, refused(refusals.notFound()))
    if (!match.route.isOpen && !isAuthorized) return sendAnswer(response, refused(refusals.unauthorized()))
    await answerRoute(match, new URLSearchParams(query), request, response)
  }

  /** Logs a call to a known route, and answers it within its budget. */
  async function answerRoute(
    match: RouteMatch,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { route, channelId } = match
    const { method = 'GET' } = request
    const read = await readPayload(request).catch((error: Error) => error)
    const { fields, files } = read instanceof Error ? { fields: {}, files: [] } : read
    const call: DiscordCall = {
      at: state.clock.now(),
      name: route.name,
      channelId,
      body: fields,
      files: files.map((file) => file.name),
    }
    await log.answer<Answer>(response, call, {
      run: () => {
        if (read instanceof Error) throw read
        return runWithinBudget(match, { query, method, fields, files })
      },
      refused,
      answerTo: (fault) => answerTo(fault, match),
      outcomeOf: ({ status, code }) => ({ status, ...(code !== undefined && { code }) }),
    })
  }

  /**
   * Sends the file at a path, or an empty 404. Files need no token, because their address has a signature.
   * https://discord.com/developers/docs/reference#signed-attachment-cdn-urls
   */
  function sendFile(path: string, response: ServerResponse): void {
    const [, , channelId = '', postId = '', index = ''] = path.split('/')
    const file = state.channel(channelId)?.posts.get(postId)?.files[Number(index)]
    response.writeHead(file ? 200 : 404)
    response.end(file?.bytes)
  }

  /**
   * Returns what answers a call about the application, which is not logged: reads it, or replaces its commands.
   * Undefined for any other call. The answer rejects with a `Refusal` for wrong commands.
   */
  function applicationRoute(method: string, path: string): ((request: IncomingMessage) => Promise<Answer>) | undefined {
    // https://discord.com/developers/docs/resources/application#get-current-application
    if (method === 'GET' && path === '/applications/@me') return async () => done({ id: state.me.id })
    if (method !== 'PUT' || path !== `/applications/${state.me.id}/commands`) return undefined
    return async (request) => {
      state.commands = validCommandNames(parseJson((await readBody(request)).toString('utf8')))
      return done([])
    }
  }

  /**
   * Returns the response to a fault: a 429, an error, or a page. A 429 also freezes the window that it is for: the
   * global one, or the bucket's if the call has one.
   */
  function answerTo(fault: AnswerFault<DiscordFault>, match: RouteMatch): Answer {
    switch (fault.type) {
      case 'rate-limited': {
        const { retryAfterS, scope = 'user' } = fault
        const frozen = scope === 'global' ? 'global' : bucketName(match)
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

  /**
   * Does the call and returns the response, with its bucket in the headers. Refuses it with a 429 if the global window
   * or the bucket's is empty. Calls that need no token don't count globally.
   */
  function runWithinBudget(match: RouteMatch, received: Pick<Call, 'fields' | 'files' | 'query' | 'method'>): Answer {
    const { route, ...place } = match
    const now = state.clock.now()
    const global = route.isOpen ? undefined : state.buckets.take('global', limits.global)
    if (global?.isEmpty) return tooMany(global.resetAfterMs, 'global')
    const allowance = route.bucket && state.allowances[route.bucket]
    const bucket = allowance && state.buckets.take(bucketName(match) ?? '', allowance)
    if (bucket?.isEmpty) return withBucket(tooMany(bucket.resetAfterMs, 'user'), bucket, now)
    const answer = doneOrRefused(() => route.run({ state, ...received, ...place }))
    return bucket ? withBucket(answer, bucket, now) : answer
  }
}

/** Returns the answer with the result, or the refusal if the call throws. */
function doneOrRefused(run: () => unknown): Answer {
  try {
    return done(run())
  } catch (error) {
    return refused(error)
  }
}

/** The answer to a call that was done: 204 if the result is undefined. */
function done(result: unknown): Answer {
  return result === undefined ? { status: 204 } : { status: 200, body: JSON.stringify(result) }
}

/**
 * Returns the error response. An error that isn't a `Refusal` is a bug in the fake, and becomes a 500 so that the
 * test fails.
 */
function refused(error: unknown): Answer {
  const { status, code, message, errors } =
    error instanceof Refusal ? error : new Refusal(500, 0, `The fake Discord failed: ${String(error)}`)
  return { status, code, body: JSON.stringify({ message, code, ...(errors && { errors }) }) }
}

/** Returns the 429. `retry_after` is exact. The header is in whole seconds. */
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

/** One bucket per kind of call and channel, or interaction. Undefined for calls that only the global limit counts. */
function bucketName({ route, channelId, emojiOrToken }: RouteMatch): string | undefined {
  return route.bucket && `${route.bucket} ${channelId || emojiOrToken}`
}

/**
 * Returns the answer with the headers of its bucket. Headers of the answer win.
 * https://discord.com/developers/docs/topics/rate-limits#header-format
 */
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

/**
 * Returns where the gateway is, and how often a bot may connect.
 * https://docs.discord.com/developers/events/gateway#get-gateway-bot
 */
function gatewayOf(url: string): unknown {
  const session_start_limit = { total: 1000, remaining: 999, reset_after: 0, max_concurrency: 1 }
  return { url, shards: 1, session_start_limit }
}

/**
 * Returns the names of commands that replace all of an application's. Throws a `Refusal` for anything but a list of at
 * most 100, and for a command with a wrong name, description or type.
 * https://discord.com/developers/docs/interactions/application-commands#bulk-overwrite-global-application-commands
 */
function validCommandNames(value: unknown): readonly string[] {
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

/**
 * Resolves with the fields and files of a call: JSON, or a form with JSON and files. No fields for an empty body.
 * Rejects with a `Refusal` for invalid JSON, and a 500 for a text that can't be encoded.
 */
async function readPayload(request: IncomingMessage): Promise<Pick<Call, 'fields' | 'files'>> {
  const body = await readBody(request)
  const form = readForm(body, request)
  const text = form ? String(form.payload_json ?? '') : body.toString('utf8')
  const value = text === '' ? {} : parseJson(text)
  if (value === undefined) throw new Refusal(400, 50109, 'The request body contains invalid JSON.')
  // https://github.com/discord/discord-api-docs/issues/6561, about a custom_id.
  if (hasHalfPair(value)) throw new Refusal(500, 0, '500: Internal Server Error')
  return { fields: fieldsOf(value), files: filesIn(form ?? {}) }
}
