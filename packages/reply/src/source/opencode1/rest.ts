import { createOpencodeClient } from '@opencode-ai/sdk/v2/client'
import type { PermissionReply } from '../../ask.ts'
import { ReplyError } from '../../error.ts'
import type { Model } from '../../reply.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { PermissionRule } from '../guard-rules.ts'
import { type Address, unauthorizedError } from '../http/address.ts'
import { unreachableError } from '../http/event-stream.ts'
import { createFetcher, type FetcherOptions, isClosedError, isTooLargeError } from '../http/fetcher.ts'
import { reasonOf } from '../http/server-errors.ts'
import type { AskAddress } from '../port.ts'

export interface RestOptions extends Omit<FetcherOptions, 'isLong'> {
  readonly address: Address
}

/** How many sessions to list after a gap. Servers return 100 by default. */
const maxListed = 100_000

/** The result of the SDK's calls. */
interface Result {
  readonly data?: unknown
  readonly error?: unknown
  readonly response?: Response | undefined
}

type Placed = keyof SessionRef
export type PromptBody = Omit<Parameters<Client['session']['promptAsync']>[0], Placed>
export type CommandBody = Omit<Parameters<Client['session']['command']>[0], Placed>
export type CreateBody = Omit<NonNullable<Parameters<Client['session']['create']>[0]>, Placed>
type Client = ReturnType<typeof createOpencodeClient>

interface PermitOptions {
  readonly message?: string | undefined
  /** Cancels the answer unless it has been sent. */
  readonly signal?: AbortSignal | undefined
}

type AskPlace = Omit<AskAddress, 'type'>

/** The calls to the server. Errors name the failure and the fix. Responses are not validated here. */
export type Rest = ReturnType<typeof createRest>

export function createRest({ address, maxAnswerBytes, ...options }: RestOptions) {
  const fetcher = createFetcher({ ...options, maxAnswerBytes, isLong })
  const headers = address.authorization === undefined ? {} : { authorization: address.authorization }
  const client = createOpencodeClient({
    baseUrl: address.url,
    headers,
    fetch: (request) => fetcher.fetch(request instanceof Request ? request : new Request(request)),
  })
  return {
    health: () => call('GET /global/health', client.global.health()),
    sessions: (since: number | undefined, directory: string | undefined) =>
      call('GET /session', client.session.list({ ...roots(since), ...at({ directory }) })),
    /** Lists the sessions of all projects. Experimental, from 1.2 on. */
    sessionsEverywhere: (since: number | undefined) =>
      call('GET /experimental/session', client.experimental.session.list(roots(since))),
    /** The session that was updated last, or before 1.2 the one that was created last. */
    newestSession: (directory: string | undefined) =>
      call('GET /session', client.session.list({ limit: 1, ...at({ directory }) })),
    newestMessage: (place: SessionRef) =>
      call('GET /session/:id/message', client.session.messages({ ...of(place), limit: 1 })),
    session: (place: SessionRef) => call('GET /session/:id', client.session.get(of(place))),
    message: (place: SessionRef, messageID: string) =>
      call('GET /session/:id/message/:id', client.session.message({ ...of(place), messageID })),
    messages,
    todos: (place: SessionRef) => call('GET /session/:id/todo', client.session.todo(of(place))),
    children: (place: SessionRef) => call('GET /session/:id/children', client.session.children(of(place))),
    status: (directory: string | undefined) => call('GET /session/status', client.session.status(at({ directory }))),
    questions: (directory: string | undefined) => call('GET /question', client.question.list(at({ directory }))),
    permissions: (directory: string | undefined) => call('GET /permission', client.permission.list(at({ directory }))),
    path: (directory: string) => call('GET /path', client.path.get({ directory })),
    listing,
    projects: () => call('GET /project', client.project.list()),
    providers: (directory: string | undefined) =>
      call('GET /config/providers', client.config.providers(at({ directory }))),
    agents: (directory: string | undefined) => call('GET /agent', client.app.agents(at({ directory }))),
    commands: (directory: string | undefined) => call('GET /command', client.command.list(at({ directory }))),
    create: (directory: string | undefined, body: CreateBody) =>
      call('POST /session', client.session.create({ ...body, ...at({ directory }) })),
    addRules: (place: SessionRef, rules: readonly PermissionRule[]) =>
      call('PATCH /session/:id', client.session.update({ ...of(place), permission: [...rules] })),
    prompt: (place: SessionRef, body: PromptBody) =>
      call('POST /session/:id/prompt_async', client.session.promptAsync({ ...body, ...of(place) })),
    command: (place: SessionRef, body: CommandBody) =>
      call('POST /session/:id/command', client.session.command({ ...body, ...of(place) })),
    abort: (place: SessionRef) => call('POST /session/:id/abort', client.session.abort(of(place))),
    fork: (place: SessionRef, messageID: string | undefined) =>
      call(
        'POST /session/:id/fork',
        client.session.fork({ ...of(place), ...(messageID !== undefined && { messageID }) }),
      ),
    revert: (place: SessionRef, messageID: string) =>
      call('POST /session/:id/revert', client.session.revert({ ...of(place), messageID })),
    unrevert: (place: SessionRef) => call('POST /session/:id/unrevert', client.session.unrevert(of(place))),
    summarize: (place: SessionRef, model: Model) =>
      call('POST /session/:id/summarize', client.session.summarize({ ...of(place), ...model })),
    answerQuestion: (ask: AskPlace, answers: string[][], signal?: AbortSignal) => {
      const body = { requestID: ask.requestID, answers, ...at(ask) }
      return call('POST /question/:id/reply', client.question.reply(body, until(signal)))
    },
    rejectQuestion: (ask: AskPlace, signal?: AbortSignal) => {
      const body = { requestID: ask.requestID, ...at(ask) }
      return call('POST /question/:id/reject', client.question.reject(body, until(signal)))
    },
    permit,
    close: fetcher.close,
  }

  /**
   * Reads the newest messages, or those before a cursor. `next` is the cursor of the previous page. Absent at the
   * session's beginning, and on servers before 1.2, which only take the limit. Servers refuse a cursor without a limit.
   */
  async function messages(
    place: SessionRef,
    page: { readonly limit: number; readonly before?: string | undefined },
  ): Promise<{ readonly data: unknown; readonly next?: string | undefined }> {
    const { limit, before } = page
    const request = client.session.messages({ ...of(place), limit, ...(before !== undefined && { before }) })
    const { data, response } = await answer('GET /session/:id/message', request)
    return { data, next: response.headers.get('x-next-cursor') ?? undefined }
  }

  /**
   * Whether the server can list a directory, and whether the list is empty. Rejects only if the server doesn't answer.
   */
  async function listing(directory: string): Promise<{ readonly isListed: boolean; readonly isEmpty: boolean }> {
    const { data, error, response } = await client.file
      .list({ path: '.', directory })
      .catch((cause: unknown): Result => ({ error: cause }))
    if (!response) throw unanswered('GET /file', error)
    return { isListed: response.status !== 500, isEmpty: Array.isArray(data) && data.length === 0 }
  }

  /** Answers a permission, on servers before 1.1 by their older route. */
  async function permit(ask: AskPlace, reply: PermissionReply, options: PermitOptions = {}): Promise<unknown> {
    const { requestID, sessionID } = ask
    const { message, signal } = options
    const body = { requestID, reply, ...(message !== undefined && { message }), ...at(ask) }
    try {
      return await call('POST /permission/:id/reply', client.permission.reply(body, until(signal)))
    } catch (error) {
      if (!(error instanceof ReplyError) || error.type !== 'not-opencode') throw error
      const old = { sessionID, permissionID: requestID, response: reply, ...at(ask) }
      return await call('POST /session/:id/permissions/:id', client.permission.respond(old, until(signal)))
    }
  }

  async function call(route: string, request: Promise<Result>): Promise<unknown> {
    return (await answer(route, request)).data
  }

  async function answer(
    route: string,
    request: Promise<Result>,
  ): Promise<{ readonly data: unknown; readonly response: Response }> {
    const { data, error, response } = await request.catch((cause: unknown): Result => ({ error: cause }))
    if (!response && isTooLargeError(error)) throw tooLarge(route)
    if (!response && isClosedError(error)) throw error
    if (!response) throw unanswered(route, error)
    if (response.headers.get('content-type')?.startsWith('text/html')) throw notOpencode(route)
    if (error === undefined && response.ok) return { data, response }
    throw refused(route, response.status, error)
  }

  function unanswered(route: string, cause: unknown): ReplyError {
    if (cause instanceof Error && cause.message.includes('text/html')) return notOpencode(route)
    return unreachableError(address, `${reasonOf(cause)}, ${route}`, cause)
  }

  function tooLarge(route: string): ReplyError {
    const message = `${address.url} answered ${route} with more than ${maxAnswerBytes} bytes, so the response was not read. Raise maxAnswerBytes if the server really has that much data.`
    return new ReplyError('too-large', message)
  }

  function notOpencode(route: string): ReplyError {
    const message = `${address.url} answered ${route} with a web page: it is not an OpenCode server, or its version lacks this route. Check the url and the server's version.`
    return new ReplyError('not-opencode', message)
  }

  function refused(route: string, status: number, error: unknown): ReplyError {
    if (status === 401 || status === 403) return unauthorizedError(address, status)
    if (status === 404)
      return new ReplyError('gone', `${address.url} no longer has this (404 at ${route}): ${reasonOf(error)}`)
    return new ReplyError('refused', `${address.url} refused ${route} (${status}): ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

/** These calls return when their run has ended. */
function isLong({ method, url }: Request): boolean {
  return method === 'POST' && /\/(command|summarize)$/.test(new URL(url).pathname)
}

function roots(since: number | undefined): { roots: true; limit: number; start?: number } {
  return { roots: true, limit: maxListed, ...(since !== undefined && { start: since }) }
}

function until(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal }
}

function of(place: SessionRef): { sessionID: string; directory?: string } {
  return { sessionID: place.sessionID, ...at(place) }
}

/** The SDK's types don't accept `undefined`. */
function at({ directory }: Pick<SessionRef, 'directory'>): { directory?: string } {
  return directory === undefined ? {} : { directory }
}
