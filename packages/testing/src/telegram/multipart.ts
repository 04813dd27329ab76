/** A file as it was sent. */
export interface Upload {
  readonly name: string
  readonly bytes: Uint8Array
}

export interface Parts {
  readonly fields: Readonly<Record<string, string>>
  readonly files: ReadonlyMap<string, Upload>
}

/** Reads a `multipart/form-data` body. Accepts unquoted names, as grammY writes them. */
export function readMultipart(body: Buffer, boundary: string): Parts {
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
