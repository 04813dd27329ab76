import { ReplyError } from '../../error.ts'

/**
 * Reads a response's body. Rejects with `too-large` beyond `maxBytes`: at once if the header says so, otherwise while
 * reading, so that it never holds more than that.
 */
export async function readBody(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  if (!response.body) return new Uint8Array()
  const reader = response.body.getReader()
  const pieces: Uint8Array[] = []
  let length = 0
  let isTooLarge = Number(response.headers.get('content-length')) > maxBytes
  while (!isTooLarge) {
    const { done, value } = await reader.read()
    if (done) return joined(pieces, length)
    length += value.byteLength
    isTooLarge = length > maxBytes
    if (!isTooLarge) pieces.push(value)
  }
  // Not awaited: the server may keep sending.
  void reader.cancel().catch(() => {})
  throw new ReplyError('too-large', `more than ${maxBytes} bytes`)
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.byteLength
  }
  return all
}
