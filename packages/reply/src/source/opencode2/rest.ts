import { ReplyError } from '../../error.ts'
import { type Address, unauthorizedError } from '../http/address.ts'
import { unreachableError } from '../http/event-stream.ts'
import { createFetcher, type FetcherOptions, isClosedError, isTooLargeError } from '../http/fetcher.ts'
import { reasonOf } from '../http/server-errors.ts'

export interface RestOptions extends Omit<FetcherOptions, 'isLong'> {
  readonly address: Address
}

export interface RequestContent {
  readonly query?: Readonly<Record<string, string | undefined>> | undefined
  readonly body?: object | undefined
  /** Cancels the call unless it has been sent. */
  readonly signal?: AbortSignal | undefined
}

/** Calls routes below `/api`. Errors name the failure and the fix. Responses are not validated here. */
export interface Rest {
  /** Returns the response's JSON. Undefined for an empty one. */
  get(route: string, options?: RequestContent): Promise<unknown>
  /** Returns the data of a stream of events that the server ends. */
  events(route: string, options?: RequestContent): Promise<readonly unknown[]>
  /** Sends the body and returns the response's JSON. Undefined for an empty one. */
  post(route: string, options?: RequestContent): Promise<unknown>
  /** Returns the response's JSON. Undefined for an empty one. */
  delete(route: string, options?: RequestContent): Promise<unknown>
  /**
   * Returns the server's time at the newest response, in ms since the epoch and whole seconds, by its `Date` header, which
   * may be a second late. Undefined
   * before the first response, and without that header.
   */
  newestTime(): number | undefined
  close(): void
}

/**
 * Creates the calls to one server: each adds `/api`, the credentials and the deadline, and resolves with the JSON of the
 * response. Errors name the failure and the fix.
 */
export function createRest({ address, maxAnswerBytes, ...options }: RestOptions): Rest {
  const fetcher = createFetcher({ ...options, maxAnswerBytes, isLong: () => false })
  const { authorization } = address
  let newestTime: number | undefined
  return {
    get: async (route, content) => await callJson('GET', route, content),
    events: async (route, content) => {
      const { name, text } = await callForText('GET', route, content)
      const blocks = text.split('\n').filter((line) => line.startsWith('data:'))
      return blocks.map((line) => parseOrThrow(name, line.slice('data:'.length)))
    },
    post: async (route, content) => await callJson('POST', route, content),
    delete: async (route, content) => await callJson('DELETE', route, content),
    newestTime: () => newestTime,
    close: fetcher.close,
  }

  /** Sends a request and returns the response's JSON. Undefined for an empty one. */
  async function callJson(method: string, route: string, content?: RequestContent): Promise<unknown> {
    const { name, text } = await callForText(method, route, content)
    return text === '' ? undefined : parseOrThrow(name, text)
  }

  /**
   * Sends a request and returns the text of a successful response, with the route's name for errors. Rejects for any
   * other status.
   */
  async function callForText(method: string, route: string, { query = {}, body, signal }: RequestContent = {}) {
    const url = new URL(`${address.url}/api${route}`)
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value)
    const headers = new Headers({ accept: 'application/json' })
    if (authorization !== undefined) headers.set('authorization', authorization)
    if (method === 'POST') headers.set('content-type', 'application/json')
    const init = { method, headers, ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }) }
    const name = `${method} /api${routeWithoutIDs(route)}`
    const response = await fetchOrThrow(name, new Request(url, { ...init, ...(signal && { signal }) }))
    const text = await response.text()
    const time = Date.parse(response.headers.get('date') ?? '')
    newestTime = Number.isNaN(time) ? undefined : time
    if (response.ok) return { name, text }
    throw refusedError(name, response.status, text)
  }

  /** Returns the response. Rejects with `closed`, `too-large` or `unreachable` if there is none. */
  async function fetchOrThrow(name: string, request: Request): Promise<Response> {
    try {
      return await fetcher.fetch(request)
    } catch (cause) {
      if (isClosedError(cause)) throw cause
      if (isTooLargeError(cause)) {
        const message = `${address.url} answered ${name} with more than ${maxAnswerBytes} bytes, so the response was not read. Raise maxAnswerBytes if the server really has that much data.`
        throw new ReplyError('too-large', message)
      }
      throw unreachableError(address, `${reasonOf(cause)}, ${name}`, cause)
    }
  }

  /** Parses JSON. Throws `not-opencode` for any other text. */
  function parseOrThrow(name: string, text: string): unknown {
    try {
      return JSON.parse(text)
    } catch {
      const message = `${address.url} answered ${name} with something that is not JSON: it is not an OpenCode server, or its version lacks this route. Check the url and the server's version.`
      throw new ReplyError('not-opencode', message)
    }
  }

  /**
   * Returns the error for a status of failure: `unauthorized` for 401 and 403, `gone` for 404 and for a form's 409, or
   * else `refused`.
   */
  function refusedError(name: string, status: number, text: string): ReplyError {
    if (status === 401 || status === 403) return unauthorizedError(address, status)
    const reason = reasonOf(parseOrExcerpt(text))
    // A 409 for an ask means that it is already settled.
    if (status === 404 || (status === 409 && name.includes('/form/')))
      return new ReplyError('gone', `${address.url} no longer has this (${status} at ${name}): ${reason}`)
    return new ReplyError('refused', `${address.url} refused ${name} (${status}): ${reason}`)
  }
}

/** Returns the route with `:id` for each id of a session, message, permission and form, for errors. */
function routeWithoutIDs(route: string): string {
  return route.replaceAll(/\/(?:ses|msg|per|frm)_\w+/g, '/:id')
}

/** Parses JSON. Returns the first 300 UTF-16 units of any other text. */
function parseOrExcerpt(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text.slice(0, 300)
  }
}
