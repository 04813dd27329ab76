/** The end of a text that may be of any length. */
export interface Tail {
  push(text: string): void
  /** As many whole characters from the end as fit. */
  text(): string
  isTruncated(): boolean
}

/** Pieces that are smaller than this, in bytes, are joined, so that many tiny writes take little memory. */
const joinBelow = 4096

/** Keeps the last `limit` bytes of a text as UTF-8, cut between characters. */
export function createTail(limit: number): Tail {
  let pieces: Uint8Array[] = []
  let size = 0
  let total = 0
  return { push, text, isTruncated: () => total > limit }

  function push(text: string): void {
    const bytes = Buffer.from(text)
    const last = pieces.at(-1)
    if (last && last.length + bytes.length < joinBelow) pieces[pieces.length - 1] = Buffer.concat([last, bytes])
    else pieces.push(bytes)
    size += bytes.length
    total += bytes.length
    const from = firstKept()
    if (from > 0) pieces = pieces.slice(from)
  }

  function firstKept(): number {
    let from = 0
    for (const { length } of pieces) {
      if (size - length < limit) break
      size -= length
      from++
    }
    return from
  }

  function text(): string {
    const bytes = Buffer.concat(pieces)
    let start = Math.max(0, bytes.length - limit)
    while (isInside(bytes, start)) start++
    return bytes.subarray(start).toString('utf8')
  }
}

/** Whether a character began before this byte and goes on in it. */
function isInside(bytes: Uint8Array, at: number): boolean {
  return ((bytes[at] ?? 0) & 0xc0) === 0x80
}
