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

type AskPlace = Omit<AskAddress, 'type'>

/** The calls to the server. Errors name the failure and the fix. Responses are not validated here. */
export type Rest = ReturnType<typeof createRest>

/**
 * Creates the calls to one server. Each resolves with the response's data as it is, and rejects with an error that
 * names the failure and the fix.
 */
export function createRest({ address, maxAnswerBytes, ...options }: RestOptions) {
  const fetcher = createFetcher({ ...options, maxAnswerBytes, isLong })
  const headers = address.authorization === undefined ? {} : { authorization: address.authorization }
  const client = createOpencodeClient({
    baseUrl: address.url,
    headers,
    fetch: (request) => fetcher.fetch(request instanceof Request ? request : new Request(request)),
  })
  return {
    health: () => dataOf('GET /global/health', client.global.health()),
    sessions: (since: number | undefined, directory: string | undefined) =>
      dataOf('GET /session', client.session.list({ ...rootQuery(since), ...directoryField({ directory }) })),
    /** Lists the sessions of all projects. Experimental, from 1.2 on. */
    sessionsEverywhere: (since: number | undefined) =>
      dataOf('GET /experimental/session', client.experimental.session.list(rootQuery(since))),
    /** The session that was updated last, or before 1.2 the one that was created last. */
    newestSession: (directory: string | undefined) =>
      dataOf('GET /session', client.session.list({ limit: 1, ...directoryField({ directory }) })),
    newestMessage: (place: SessionRef) =>
      dataOf('GET /session/:id/message', client.session.messages({ ...sessionFields(place), limit: 1 })),
    session: (place: SessionRef) => dataOf('GET /session/:id', client.session.get(sessionFields(place))),
    message: (place: SessionRef, messageID: string) =>
      dataOf('GET /session/:id/message/:id', client.session.message({ ...sessionFields(place), messageID })),
    messages: readMessages,
    todos: (place: SessionRef) => dataOf('GET /session/:id/todo', client.session.todo(sessionFields(place))),
    children: (place: SessionRef) => dataOf('GET /session/:id/children', client.session.children(sessionFields(place))),
    status: (directory: string | undefined) =>
      dataOf('GET /session/status', client.session.status(directoryField({ directory }))),
    questions: (directory: string | undefined) =>
      dataOf('GET /question', client.question.list(directoryField({ directory }))),
    permissions: (directory: string | undefined) =>
      dataOf('GET /permission', client.permission.list(directoryField({ directory }))),
    path: (directory: string) => dataOf('GET /path', client.path.get({ directory })),
    listing: probeDirectory,
    projects: () => dataOf('GET /project', client.project.list()),
    providers: (directory: string | undefined) =>
      dataOf('GET /config/providers', client.config.providers(directoryField({ directory }))),
    config: (directory: string | undefined) => dataOf('GET /config', client.config.get(directoryField({ directory }))),
    agents: (directory: string | undefined) => dataOf('GET /agent', client.app.agents(directoryField({ directory }))),
    commands: (directory: string | undefined) =>
      dataOf('GET /command', client.command.list(directoryField({ directory }))),
    create: (directory: string | undefined, body: CreateBody) =>
      dataOf('POST /session', client.session.create({ ...body, ...directoryField({ directory }) })),
    addRules: (place: SessionRef, rules: readonly PermissionRule[]) =>
      dataOf('PATCH /session/:id', client.session.update({ ...sessionFields(place), permission: [...rules] })),
    prompt: (place: SessionRef, body: PromptBody, signal?: AbortSignal) => {
      const fields = { ...body, ...sessionFields(place) }
      return dataOf('POST /session/:id/prompt_async', client.session.promptAsync(fields, withSignal(signal)))
    },
    command: (place: SessionRef, body: CommandBody, signal?: AbortSignal) => {
      const fields = { ...body, ...sessionFields(place) }
      return dataOf('POST /session/:id/command', client.session.command(fields, withSignal(signal)))
    },
    abort: (place: SessionRef) => dataOf('POST /session/:id/abort', client.session.abort(sessionFields(place))),
    fork: (place: SessionRef, messageID: string | undefined) =>
      dataOf(
        'POST /session/:id/fork',
        client.session.fork({ ...sessionFields(place), ...(messageID !== undefined && { messageID }) }),
      ),
    revert: (place: SessionRef, messageID: string) =>
      dataOf('POST /session/:id/revert', client.session.revert({ ...sessionFields(place), messageID })),
    unrevert: (place: SessionRef) =>
      dataOf('POST /session/:id/unrevert', client.session.unrevert(sessionFields(place))),
    summarize: (place: SessionRef, model: Model) =>
      dataOf('POST /session/:id/summarize', client.session.summarize({ ...sessionFields(place), ...model })),
    answerQuestion: (ask: AskPlace, answers: string[][], signal?: AbortSignal) => {
      const body = { requestID: ask.requestID, answers, ...directoryField(ask) }
      return dataOf('POST /question/:id/reply', client.question.reply(body, withSignal(signal)))
    },
    rejectQuestion: (ask: AskPlace, signal?: AbortSignal) => {
      const body = { requestID: ask.requestID, ...directoryField(ask) }
      return dataOf('POST /question/:id/reject', client.question.reject(body, withSignal(signal)))
    },
    permit: answerPermission,
    close: fetcher.close,
  }

  /**
   * Returns a page of the newest messages, or of those before a cursor. `next` is the cursor of the page with older
   * ones. It is absent at the session's beginning, and on servers before 1.2, which only take the limit. Servers refuse
   * a cursor without a limit.
   */
  async function readMessages(
    place: SessionRef,
    page: { readonly limit: number; readonly before?: string | undefined },
  ): Promise<{ readonly data: unknown; readonly next?: string | undefined }> {
    const { limit, before } = page
    const request = client.session.messages({ ...sessionFields(place), limit, ...(before !== undefined && { before }) })
    const { data, response } = await requireAnswer('GET /session/:id/message', request)
    return { data, next: response.headers.get('x-next-cursor') ?? undefined }
  }

  /**
   * Returns whether the server can list a directory, and whether the list is empty. Only the status 500 means that it
   * can't. Rejects only if the server doesn't answer.
   */
  async function probeDirectory(directory: string): Promise<{ readonly isListed: boolean; readonly isEmpty: boolean }> {
    const { data, error, response } = await client.file
      .list({ path: '.', directory })
      .catch((cause: unknown): Result => ({ error: cause }))
    if (!response) throw unansweredError('GET /file', error)
    return { isListed: response.status !== 500, isEmpty: Array.isArray(data) && data.length === 0 }
  }

  /** Answers a permission. Repeats it by the older route on servers before 1.1, which lack the newer one. */
  async function answerPermission(
    ask: AskPlace,
    reply: PermissionReply,
    message?: string,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const { requestID, sessionID } = ask
    const body = { requestID, reply, ...(message !== undefined && { message }), ...directoryField(ask) }
    try {
      return await dataOf('POST /permission/:id/reply', client.permission.reply(body, withSignal(signal)))
    } catch (error) {
      if (!(error instanceof ReplyError) || error.type !== 'not-opencode') throw error
      const oldBody = { sessionID, permissionID: requestID, response: reply, ...directoryField(ask) }
      return await dataOf('POST /session/:id/permissions/:id', client.permission.respond(oldBody, withSignal(signal)))
    }
  }

  /** Resolves with a call's data. Rejects like `requireAnswer`. */
  async function dataOf(route: string, request: Promise<Result>): Promise<unknown> {
    return (await requireAnswer(route, request)).data
  }

  /**
   * Resolves with a successful response and its data. Rejects with `too-large`, `closed`, `unreachable`, `not-opencode`
   * for a web page, or like `refusedError` for a status of failure.
   */
  async function requireAnswer(
    route: string,
    request: Promise<Result>,
  ): Promise<{ readonly data: unknown; readonly response: Response }> {
    const { data, error, response } = await request.catch((cause: unknown): Result => ({ error: cause }))
    if (!response && isTooLargeError(error)) throw tooLargeError(route)
    if (!response && isClosedError(error)) throw error
    if (!response) throw unansweredError(route, error)
    if (response.headers.get('content-type')?.startsWith('text/html')) throw notOpencodeError(route)
    if (error === undefined && response.ok) return { data, response }
    throw refusedError(route, response.status, error)
  }

  /** Returns the error for a call without a response: `unreachable`, or `not-opencode` if the SDK met a web page. */
  function unansweredError(route: string, cause: unknown): ReplyError {
    if (cause instanceof Error && cause.message.includes('text/html')) return notOpencodeError(route)
    return unreachableError(address, `${reasonOf(cause)}, ${route}`, cause)
  }

  /** Returns the error for a response that was too large to read. */
  function tooLargeError(route: string): ReplyError {
    const message = `${address.url} answered ${route} with more than ${maxAnswerBytes} bytes, so the response was not read. Raise maxAnswerBytes if the server really has that much data.`
    return new ReplyError('too-large', message)
  }

  /** Returns the error for a response that is a web page. */
  function notOpencodeError(route: string): ReplyError {
    const message = `${address.url} answered ${route} with a web page: it is not an OpenCode server, or its version lacks this route. Check the url and the server's version.`
    return new ReplyError('not-opencode', message)
  }

  /** Returns the error for a status of failure: `unauthorized`, `gone` for 404, or else `refused`. */
  function refusedError(route: string, status: number, error: unknown): ReplyError {
    if (status === 401 || status === 403) return unauthorizedError(address, status)
    if (status === 404)
      return new ReplyError('gone', `${address.url} no longer has this (404 at ${route}): ${reasonOf(error)}`)
    return new ReplyError('refused', `${address.url} refused ${route} (${status}): ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

/** Whether a call may take any time, because it only returns when its run has ended. */
function isLong({ method, url }: Request): boolean {
  return method === 'POST' && /\/(command|summarize)$/.test(new URL(url).pathname)
}

/** Returns the query for all root sessions, or those that changed at this time or later. */
function rootQuery(since: number | undefined): { roots: true; limit: number; start?: number } {
  return { roots: true, limit: maxListed, ...(since !== undefined && { start: since }) }
}

/** Returns the SDK's option for a signal. Empty without one, because the SDK's types don't accept `undefined`. */
function withSignal(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal }
}

/** Returns a session's id and directory as the SDK's fields. */
function sessionFields(place: SessionRef): { sessionID: string; directory?: string } {
  return { sessionID: place.sessionID, ...directoryField(place) }
}

/** Returns the directory as the SDK's field. Empty without one, because the SDK's types don't accept `undefined`. */
function directoryField({ directory }: Pick<SessionRef, 'directory'>): { directory?: string } {
  return directory === undefined ? {} : { directory }
}
