export const DEFAULT_URL = 'http://127.0.0.1:4096'

/** Which server, and which project on it. */
export interface ServerOptions {
  readonly url?: string | undefined
  readonly directory?: string | undefined
}

/** The address without the credentials that it may carry. */
export function shownUrl({ url }: ServerOptions): string {
  return (url ?? DEFAULT_URL).replace(/\/\/[^/\s@]+@/, '//')
}
