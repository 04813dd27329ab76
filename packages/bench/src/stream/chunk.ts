/** How a stream's bytes are split: into chunks of that many bytes, or one frame at a time. */
export type Chunking = 16384 | 1400 | 'frame'

const utf8 = new TextEncoder()

/** Returns the frames as server-sent events, in chunks. */
export function chunksOf(frames: readonly string[], chunking: Chunking): readonly Uint8Array[] {
  const texts = frames.map((frame) => `data: ${frame}\n\n`)
  if (chunking === 'frame') return texts.map((text) => utf8.encode(text))
  return splitEvenly(utf8.encode(texts.join('')), chunking)
}

/** Returns a recording's bytes in chunks. */
export function chunksOfBytes(bytes: Uint8Array, chunking: Chunking): readonly Uint8Array[] {
  return chunking === 'frame' ? splitFrames(bytes) : splitEvenly(bytes, chunking)
}

/** Returns chunks of `size` bytes, and the rest as the last. Copies each, like the network. */
function splitEvenly(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.slice(at * size, (at + 1) * size))
}

/** Returns a chunk for each frame. Bytes after the last frame are a chunk too. Copies each, like the network. */
function splitFrames(bytes: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = []
  const lineEnd = 10
  let start = 0
  for (let end = bytes.indexOf(lineEnd); end !== -1; end = bytes.indexOf(lineEnd, end + 1)) {
    if (bytes[end + 1] !== lineEnd) continue
    frames.push(bytes.slice(start, end + 2))
    start = end + 2
    end += 1
  }
  if (start < bytes.length) frames.push(bytes.slice(start))
  return frames
}
