export interface Utf8Reader {
  /** The text of the bytes so far, but for a last character that is not whole yet. What is no UTF-8 becomes U+FFFD. */
  read(bytes: Uint8Array): string
  /** Forgets an unfinished character; what comes next is the beginning of a text. */
  reset(): void
}

/**
 * What `TextDecoder.decode(bytes, { stream: true })` does, several times as fast in Node: bytes that end with a whole
 * character go to the platform's quick way, which the streaming decoder has not. So the rest of a character is kept here.
 */
export function createUtf8Reader(): Utf8Reader {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let rest: Uint8Array | undefined
  let isStart = true
  return { read, reset }

  function read(bytes: Uint8Array): string {
    const all = rest === undefined ? bytes : joined(rest, bytes)
    const end = wholeEnd(all)
    rest = end === all.length ? undefined : all.slice(end)
    const text = decoder.decode(rest === undefined ? all : all.subarray(0, end))
    if (!isStart || text === '') return text
    isStart = false
    return text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text
  }

  function reset(): void {
    rest = undefined
    isStart = true
  }
}

const byteOrderMark = 0xfeff

/** Where the last character begins, if some of its bytes are missing; else the length. A character has at most four. */
function wholeEnd(bytes: Uint8Array): number {
  for (let back = 1; back < 4; back++) {
    const byte = bytes[bytes.length - back]
    if (byte === undefined || byte < 0x80) break
    if (byte >= 0xc0) return lengthFrom(byte) > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** How many bytes the character has that begins with this one. */
function lengthFrom(byte: number): number {
  if (byte >= 0xf0) return 4
  return byte >= 0xe0 ? 3 : 2
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const all = new Uint8Array(a.length + b.length)
  all.set(a)
  all.set(b, a.length)
  return all
}
