/** Holds the beginning and the end of a text that may be of any length. */
export interface Excerpt {
  /** Takes more text. Returns what of it belongs to the beginning; the rest is held for the end. */
  push(text: string): string
  /** What follows the beginning: nothing more, or a note of how much was left out, and the end. */
  end(): { readonly text: string; readonly leftOut: number }
}

/** Pieces that are smaller than this, in UTF-16 units, are joined, so that many tiny writes take little memory. */
const joinBelow = 4096

/** Keeps a text of `maxBytes` whole: of a longer one, the first three quarters of that and the last quarter. */
export function createExcerpt(maxBytes: number): Excerpt {
  const tailBytes = Math.floor(maxBytes / 4)
  let headLeft = maxBytes - tailBytes
  let tail: string[] = []
  let held = 0
  let dropped = 0
  return { push, end }

  function push(text: string): string {
    const bytes = Buffer.byteLength(text)
    if (held === 0 && dropped === 0 && bytes <= headLeft) {
      headLeft -= bytes
      return text
    }
    const head = held === 0 && dropped === 0 ? firstBytes(text, headLeft) : ''
    headLeft = 0
    hold(text.slice(head.length))
    return head
  }

  function hold(text: string): void {
    const last = tail.at(-1)
    if (last !== undefined && last.length + text.length < joinBelow) tail[tail.length - 1] = last + text
    else tail.push(text)
    held += Buffer.byteLength(text)
    let from = 0
    for (let first = tail[from]; first !== undefined; first = tail[from]) {
      const size = Buffer.byteLength(first)
      if (held - size < tailBytes) break
      held -= size
      dropped += size
      from++
    }
    if (from > 0) tail = tail.slice(from)
  }

  function end(): ReturnType<Excerpt['end']> {
    const rest = tail.join('')
    const kept = lastBytes(rest, tailBytes)
    const leftOut = dropped + held - Buffer.byteLength(kept)
    return { text: leftOut === 0 ? rest : `\n… ${leftOut.toLocaleString('en')} bytes left out …\n${kept}`, leftOut }
  }
}

/** As many whole characters from the beginning as fit. */
function firstBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text)
  let end = Math.min(limit, bytes.length)
  while (end > 0 && isInside(bytes, end)) end--
  return bytes.subarray(0, end).toString('utf8')
}

function lastBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text)
  let start = Math.max(0, bytes.length - limit)
  while (isInside(bytes, start)) start++
  return bytes.subarray(start).toString('utf8')
}

/** Whether a character began before this byte and goes on in it. */
function isInside(bytes: Uint8Array, at: number): boolean {
  return ((bytes[at] ?? 0) & 0xc0) === 0x80
}
