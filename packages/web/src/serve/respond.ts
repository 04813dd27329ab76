import { ReplyError } from '@reply/core'
import { Refusal } from '@reply/core/internal'
import { securityHeaders } from './security.ts'

/** Returns the response with the headers that protect pages, and without a body for HEAD. */
export async function finished(request: Request, response: Response): Promise<Response> {
  for (const [name, value] of Object.entries(securityHeaders))
    if (!response.headers.has(name)) response.headers.set(name, value)
  if (request.method !== 'HEAD') return response
  await response.body?.cancel()
  return new Response(undefined, { status: response.status, headers: response.headers })
}

/** The first segments of the addresses of pages. */
const folders: ReadonlySet<string> = new Set(['api', 'assets', 'desk', 'inspect', 'r'])

/** The segments of the path below that of `publicUrl`, whether or not a proxy has removed that, and whatever it is. */
export function pathOf(request: Request, publicUrl: URL): readonly string[] {
  const { pathname } = new URL(request.url)
  const base = publicUrl.pathname.replace(/\/*$/, '/')
  const whole = pathname.slice(1).split('/').map(decoded)
  if (!pathname.startsWith(base)) return whole
  const below = pathname.slice(base.length).split('/').map(decoded)
  // Pages at `/r` have the runs `/r/r/<id>`, which a proxy makes `/r/<id>` of.
  return folders.has(below[0] ?? '') ? below : whole
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw notFound()
  }
}

/** The token of a request. Empty if it has none. */
export function tokenOf(request: Request): string {
  return /^Bearer ([\w.~+/=-]+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
}

/** Throws a `Refusal` for any other method. */
export function requireMethod({ method }: Request, expected: 'GET' | 'POST'): void {
  if (method === expected || (expected === 'GET' && method === 'HEAD')) return
  throw new Refusal(405, `Use ${expected}.`, { allow: expected === 'GET' ? 'GET, HEAD' : expected })
}

/** A response that nothing stores. */
export function jsonResponse(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  })
}

/** A refusal as JSON, with one sentence for people. */
export function errorResponse({ status, message, headers }: Refusal): Response {
  return jsonResponse({ error: message }, status, headers)
}

/** The refusal for everything that is not there. */
export function notFound(): Refusal {
  return new Refusal(404, 'There is nothing here.')
}

/** Reads the address of the pages. Throws `invalid`. */
export function readPublicUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '') return url
  throw new ReplyError(
    'invalid',
    `publicUrl is ${JSON.stringify(text)}. Use an address such as https://agents.example.`,
  )
}
