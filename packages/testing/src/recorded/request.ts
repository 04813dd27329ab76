/** The relevant fields of a request. */
export interface Asked {
  readonly method: string
  readonly url: string
  readonly signal?: AbortSignal | undefined
}

/** Reads them without a `Request`: building one would cost more than everything else. */
export function toAsked(input: string | URL | Request, init: RequestInit = {}): Asked {
  const request = input instanceof Request ? input : undefined
  const method = init.method ?? request?.method ?? 'GET'
  return { method, url: request?.url ?? String(input), signal: init.signal ?? request?.signal }
}
