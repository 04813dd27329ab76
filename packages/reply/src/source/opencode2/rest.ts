import { ReplyError } from '../../error.ts'
import { type Address, unauthorizedError } from '../http/address.ts'
import { unreachableError } from '../http/event-stream.ts'
import { createFetcher, type FetcherOptions, isClosedError, isTooLargeError } from '../http/fetcher.ts'
import { reasonOf } from '../http/server-errors.ts'

export interface RestOptions extends Omit<FetcherOptions, 'isLong'> {
  readonly address: Address
}

export interface CallOptions {
  readonly query?: Readonly<Record<string, string | undefined>> | undefined
  readonly body?: object | undefined
  /** Cancels the call unless it has been sent. */
  readonly signal?: AbortSignal | undefined
}

/** Calls routes below `/api`. Errors name the failure and the fix. Responses are not validated here. */
export interface Rest {
  get(route: string, options?: CallOptions): Promise<unknown>
  /** Returns the data of a stream of events that the server ends. */
  events(route: string, options?: CallOptions): Promise<readonly unknown[]>
  post(route: string, options?: CallOptions): Promise<unknown>
  delete(route: string, options?: CallOptions): Promise<unknown>
  close(): void
}

export function createRest({ address, maxAnswerBytes, ...options }: RestOptions): Rest {
  const fetcher = createFetcher({ ...options, maxAnswerBytes, isLong: () => false })
  const { authorization } = address
  return {
    get: async (route, given) => await json('GET', route, given),
    events: async (route, given) => {
      const { name, text } = await call('GET', route, given)
      const blocks = text.split('\n').filter((line) => line.startsWith('data:'))
      return blocks.map((line) => parsed(name, line.slice('data:'.length)))
    },
    post: async (route, given) => await json('POST', route, given),
    delete: async (route, given) => await json('DELETE', route, given),
    close: fetcher.close,
  }

  async function json(method: string, route: string, given?: CallOptions): Promise<unknown> {
    const { name, text } = await call(method, route, given)
    return text === '' ? undefined : parsed(name, text)
  }

  async function call(method: string, route: string, { query = {}, body, signal }: CallOptions = {}) {
    const url = new URL(`${address.url}/api${route}`)
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value)
    const headers = new Headers({ accept: 'application/json' })
    if (authorization !== undefined) headers.set('authorization', authorization)
    if (method === 'POST') headers.set('content-type', 'application/json')
    const init = { method, headers, ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }) }
    const name = `${method} /api${nameOf(route)}`
    const response = await send(name, new Request(url, { ...init, ...(signal && { signal }) }))
    const text = await response.text()
    if (response.ok) return { name, text }
    throw refused(name, response.status, text)
  }

  async function send(name: string, request: Request): Promise<Response> {
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

  function parsed(name: string, text: string): unknown {
    try {
      return JSON.parse(text)
    } catch {
      const message = `${address.url} answered ${name} with something that is not JSON: it is not an OpenCode server, or its version lacks this route. Check the url and the server's version.`
      throw new ReplyError('not-opencode', message)
    }
  }

  function refused(name: string, status: number, text: string): ReplyError {
    if (status === 401 || status === 403) return unauthorizedError(address, status)
    const reason = reasonOf(jsonOr(text))
    // A 409 for an ask means that it is already settled.
    if (status === 404 || (status === 409 && name.includes('/form/')))
      return new ReplyError('gone', `${address.url} no longer has this (${status} at ${name}): ${reason}`)
    return new ReplyError('refused', `${address.url} refused ${name} (${status}): ${reason}`)
  }
}

/** The route without ids, for errors. */
function nameOf(route: string): string {
  return route.replaceAll(/\/(?:ses|msg|per|frm)_\w+/g, '/:id')
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text.slice(0, 300)
  }
}
