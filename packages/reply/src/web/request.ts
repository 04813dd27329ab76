import { nestsDeeper } from '../text/nests-deeper.ts'
import { Refusal } from './refusal.ts'

/** Reads the body as text. Throws a `Refusal` as soon as it has more than `maxBytes`, whatever its headers say. */
export async function readText(request: Request, maxBytes = 8 * 1024 * 1024): Promise<string> {
  const tooLarge = new Refusal(
    413,
    `The body is larger than ${maxBytes} bytes. Send only the last message, or smaller files.`,
  )
  if (Number(request.headers.get('content-length')) > maxBytes) throw tooLarge
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let bytes = 0
  if (!request.body) return text
  const reader = request.body.getReader()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      bytes += read.value.byteLength
      if (bytes > maxBytes) throw tooLarge
      text += decoder.decode(read.value, { stream: true })
    }
    return text + decoder.decode()
  } catch (error) {
    // Nothing more is read. What fails here has no one left to tell.
    void reader.cancel().catch(() => {})
    throw error instanceof Refusal ? error : new Refusal(400, 'The body could not be read as UTF-8 text.')
  }
}

/** How deeply the values of a body may be nested. What reads and writes JSON fails at some thousands. */
const maxDepth = 1000

/** Parses a body. Throws a `Refusal` if it isn't JSON, or is nested too deeply. */
export function parseJson(text: string): unknown {
  if (nestsDeeper(text, maxDepth)) throw new Refusal(400, `The body is nested deeper than ${maxDepth} levels.`)
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, 'The body is not valid JSON.')
  }
}

/** Throws a `Refusal` unless the body is JSON by its type. Forms and plain text could be sent by any page. */
export function requireJson(request: Request): void {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/json')
    throw new Refusal(415, 'The body must have the content type application/json.')
}

/**
 * Throws a `Refusal` if a page of another origin sent the request. Browsers say so in `Sec-Fetch-Site`, which pages can't
 * set, or else in `Origin`. A program that is not a browser sends neither, and has no cookies of other people.
 */
export function refuseForeign(request: Request, allowedOrigins: readonly string[]): void {
  const origin = request.headers.get('origin')
  if (origin !== null && allowedOrigins.includes(origin)) return
  const site = request.headers.get('sec-fetch-site')
  if (site === 'same-origin' || site === 'none') return
  if (site === null && (origin === null || hostOf(origin) === ownHost(request))) return
  throw new Refusal(
    403,
    `A page of another origin sent this request${origin === null ? '' : ` (${origin.slice(0, 255)})`}. Allow it in "allowedOrigins" if it is yours.`,
  )
}

function ownHost(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

/** Undefined for an opaque origin, which is "null". */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
