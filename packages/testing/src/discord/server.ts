import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Answer, done, refused, send, tooMany, withBucket } from './answer.ts'
import type { DiscordFault, DiscordFaultPlan } from './fault.ts'
import { limits } from './limits.ts'
import { commandsIn } from './menu.ts'
import { noPayload, readJson, readPayload } from './payload.ts'
import { Refusal, refusals } from './refusal.ts'
import { type Call, type DiscordCallName, type Found, routeOf } from './routes/all.ts'
import type { DiscordState } from './state.ts'

/** A received call and its response. */
export interface DiscordCall {
  /** When it arrived, in ms since the epoch by the fake's clock. */
  readonly at: number
  /** The kind of call. */
  readonly name: DiscordCallName
  /** The channel or thread that it is about. */
  readonly channelId: string
  /** The payload; for files, the names. */
  readonly body: Readonly<Record<string, unknown>>
  /** The names of uploaded files. */
  readonly files: readonly string[]
  /** The server's status, even if the client got another answer or none. Absent if the call was never taken. */
  readonly status?: number
  /** Discord's error code. */
  readonly code?: number
  /** The fault that hit it. Absent if none did. */
  readonly fault?: DiscordFault['type']
}

export interface ServerOptions {
  readonly state: DiscordState
  readonly token: string
  readonly plan: DiscordFaultPlan
  readonly calls: DiscordCall[]
  /** Where the gateway is. */
  readonly gatewayUrl: () => string
}

const page = '<html><body><h1>502 Bad Gateway</h1></body></html>'

/** Discord's REST server, under `/api/v10`. */
export function createRest({ state, token, plan, calls, gatewayUrl }: ServerOptions): Server {
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
    const { method = 'GET', url = '/' } = request
    const [before = '', query = ''] = url.split('?')
    const path = before.replace(/^\/api\/v10(?=\/)/, '')
    const isKnown = request.headers.authorization === `Bot ${token}`
    if (method === 'GET' && path === '/gateway/bot')
      return send(response, isKnown ? done(gatewayOf(gatewayUrl())) : refused(refusals.unauthorized()))
    if (path.startsWith('/attachments/')) return sendFile(path, response)
    const own = ownRoute(method, path)
    if (own) return send(response, isKnown ? await own(request) : refused(refusals.unauthorized()))
    const found = routeOf(method, path)
    if (!found) return send(response, refused(refusals.notFound()))
    if (!found.route.isOpen && !isKnown) return send(response, refused(refusals.unauthorized()))
    const read = await readPayload(request).catch((error: unknown) => refused(error))
    const payload = 'files' in read ? read : noPayload
    const { name } = found.route
    const { channelId } = found
    const fault = plan.next(name, channelId)
    const call: DiscordCall = {
      ...{ at: state.clock.now(), name, channelId, body: payload.fields },
      files: payload.files.map((file) => file.name),
      ...(fault && { fault: fault.type }),
    }
    const index = calls.push(call) - 1
    const record = (answer: Answer): Answer => {
      calls[index] = { ...call, status: answer.status, ...(answer.code !== undefined && { code: answer.code }) }
      return answer
    }
    const given = { query: new URLSearchParams(query), method }
    const run = (): Answer => record('files' in read ? runIn(found, { ...given, payload: read }) : read)
    suffer(fault, { found, response, run, record })
  }

  /** Files need no token: their address has a signature. https://discord.com/developers/docs/reference#signed-attachment-cdn-urls */
  function sendFile(path: string, response: ServerResponse): void {
    const [, , channelId = '', postId = '', index = ''] = path.split('/')
    const file = state.channel(channelId)?.posts.get(postId)?.files[Number(index)]
    response.writeHead(file ? 200 : 404)
    response.end(file?.bytes)
  }

  /** What is about the bot itself, and in no channel. */
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

  /** Applies a fault to a call. */
  function suffer(fault: DiscordFault | undefined, { found, response, run, record }: Suffering): void {
    switch (fault?.type) {
      case undefined:
        return send(response, run())
      case 'rate-limited': {
        const { retryAfterS, scope = 'user' } = fault
        const frozen = scope === 'global' ? 'global' : bucketName(found)
        if (frozen) state.buckets.freeze(frozen, retryAfterS * 1000)
        return send(response, record(tooMany(retryAfterS * 1000, scope, scope === 'shared' ? 40062 : 0)))
      }
      case 'status': {
        const { status, code = 0, message = 'Failed', isTaken } = fault
        const answer = refused(new Refusal(status, code, message))
        if (isTaken) run()
        else record(answer)
        return send(response, answer)
      }
      case 'html':
        return send(response, record({ status: 502, body: page, type: 'text/html' }))
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

interface Suffering {
  readonly found: Found
  readonly response: ServerResponse
  readonly run: () => Answer
  readonly record: (answer: Answer) => Answer
}

function answerOf(run: () => unknown): Answer {
  try {
    return done(run())
  } catch (error) {
    return refused(error)
  }
}

/** One bucket per kind of call and channel. */
function bucketName({ route, channelId, rest }: Found): string | undefined {
  return route.bucket && `${route.bucket} ${channelId || rest}`
}

function gatewayOf(url: string): unknown {
  const session_start_limit = { total: 1000, remaining: 999, reset_after: 0, max_concurrency: 1 }
  return { url, shards: 1, session_start_limit }
}
