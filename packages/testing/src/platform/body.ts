import type { IncomingMessage } from 'node:http'

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether any text in a JSON value has half of a surrogate pair, which can't be encoded in UTF-8. */
export function hasHalfPair(value: unknown): boolean {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasHalfPair)
}

/** A file as it was sent. */
export interface Upload {
  readonly name: string
  readonly bytes: Uint8Array
}

/** A form with files. */
interface Form {
  readonly fields: Readonly<Record<string, string>>
  readonly files: ReadonlyMap<string, Upload>
}

/** Reads a `multipart/form-data` body. Undefined if the request has another type. Accepts unquoted names, as grammY writes them. */
export function readForm(body: Buffer, { headers }: IncomingMessage): Form | undefined {
  const boundary = /^multipart\/form-data;.*boundary="?([^";]+)/i.exec(headers['content-type'] ?? '')?.[1]
  if (boundary === undefined) return undefined
  const fields: Record<string, string> = {}
  const files = new Map<string, Upload>()
  for (const part of partsOf(body, boundary)) {
    const end = part.indexOf('\r\n\r\n')
    if (end === -1) continue
    const head = part.subarray(0, end).toString('utf8')
    const bytes = part.subarray(end + 4)
    const name = parameterOf(head, 'name') ?? ''
    const filename = parameterOf(head, 'filename')
    if (filename === undefined) fields[name] = bytes.toString('utf8')
    else files.set(name, { name: filename, bytes: new Uint8Array(bytes) })
  }
  return { fields, files }
}

function partsOf(body: Buffer, boundary: string): readonly Buffer[] {
  const parts: Buffer[] = []
  const first = `--${boundary}\r\n`
  const next = `\r\n--${boundary}`
  let start = body.indexOf(first)
  if (start === -1) return parts
  start += first.length
  for (let end = body.indexOf(next, start); end !== -1; end = body.indexOf(next, start)) {
    parts.push(body.subarray(start, end))
    start = end + next.length + 2
  }
  return parts
}

function parameterOf(head: string, name: string): string | undefined {
  const found = new RegExp(`[;\\s]${name}=(?:"([^"]*)"|([^;\\r\\n]*))`, 'i').exec(head)
  return found?.[1] ?? found?.[2]
}
