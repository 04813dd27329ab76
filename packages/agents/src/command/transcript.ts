import type { LocalRun } from '@reply/core/source'
import { createPlainText } from '../process/plain-text.ts'

/** The stream that a command wrote to. */
export type OutputStream = 'stdout' | 'stderr'

/** The output of a command, with its terminal sequences. */
export interface CommandOutput {
  /** Whole up to `maxBytes`. Longer output has the beginning, a line that says how much was left out, and the end. */
  readonly stdout: string
  /** Like `stdout`. */
  readonly stderr: string
  /** How many bytes of each stream are missing. */
  readonly leftOut: Readonly<Record<OutputStream, number>>
}

/** How many parts a reply may have. After that, output of the other stream is held until the end. */
const mostParts = 1000

/**
 * Creates the transcript of one command. It writes the command's output to the run, a part for each stretch of one stream,
 * and returns it at the end. Of each stream, it keeps the beginning and the end, `maxBytes` together.
 */
export function createTranscript(run: LocalRun, maxBytes: number) {
  const streams = { stdout: createOutputStream(maxBytes), stderr: createOutputStream(maxBytes) }
  let currentStream: OutputStream | undefined
  let rawPieces: string[] = []
  let partCount = 0
  return { push, end }

  /**
   * Adds output. Shows it if it belongs to the beginning of its stream, and holds it for the end otherwise, also if it
   * would need a part beyond `mostParts`.
   */
  function push(name: OutputStream, text: string): void {
    const stream = streams[name]
    const head = stream.excerpt.push(text)
    if (head === '') return
    stream.head.push(head)
    if (name !== currentStream && partCount >= mostParts) stream.late.push(head)
    else writePart(name, head)
  }

  /**
   * Writes the text to the run without terminal sequences. Seals the last part and begins a new one if that is of the
   * other stream.
   */
  function writePart(name: OutputStream, text: string): void {
    if (name !== currentStream) {
      seal()
      currentStream = name
      partCount++
    }
    rawPieces.push(text)
    const delta = streams[name].plain.push(text)
    const stream = name === 'stderr' ? name : undefined
    run.write({ type: 'text', delta, stream, raw: { stream: name, data: text } })
  }

  /**
   * Seals the current part. Its `raw` has the whole text with terminal sequences. Does nothing without a current part.
   */
  function seal(): void {
    if (currentStream === undefined) return
    const rest = streams[currentStream].plain.end()
    if (rest !== '') run.write({ type: 'text', delta: rest })
    run.write({ type: 'seal', raw: { stream: currentStream, data: rawPieces.join('') } })
    rawPieces = []
    currentStream = undefined
  }

  /**
   * Writes all that was held to the run, first that of the current part's stream, and seals the last part. Returns the
   * output of both streams, cut to `maxBytes`.
   */
  function end(): CommandOutput {
    const rests = { stdout: streams.stdout.excerpt.end(), stderr: streams.stderr.excerpt.end() }
    for (const name of currentStream === 'stderr' ? (['stderr', 'stdout'] as const) : (['stdout', 'stderr'] as const)) {
      const text = [...streams[name].late, rests[name].text].join('')
      if (text !== '') writePart(name, text)
    }
    seal()
    return {
      stdout: streams.stdout.head.join('') + rests.stdout.text,
      stderr: streams.stderr.head.join('') + rests.stderr.text,
      leftOut: { stdout: rests.stdout.leftOut, stderr: rests.stderr.leftOut },
    }
  }
}

/** The state of one stream: what is kept, what was shown (`head`), and what is held because the reply is full (`late`). */
function createOutputStream(maxBytes: number) {
  const head: string[] = []
  const late: string[] = []
  return { excerpt: createExcerpt(maxBytes), plain: createPlainText(), head, late }
}

/** The beginning and the end of a text of any length. */
interface Excerpt {
  /** Adds text. Returns what of it belongs to the beginning, maybe nothing. The rest is held for the end. */
  push(text: string): string
  /**
   * Returns the text after the beginning, and how many bytes were left out. The text is empty if all of it belongs to the
   * beginning. It begins with a note if some was left out.
   */
  end(): { readonly text: string; readonly leftOut: number }
}

/** Smaller pieces are joined, so that many tiny writes take little memory. In UTF-16 units. */
const joinBelow = 4096

/**
 * Creates an excerpt of one stream, of up to `maxBytes`, cut between characters. Of a longer text, three quarters of that
 * are its beginning and one quarter its end. `push` returns what belongs to the beginning, and `end` the rest.
 */
function createExcerpt(maxBytes: number): Excerpt {
  const tailBytes = Math.floor(maxBytes / 4)
  let headBytesLeft = maxBytes - tailBytes
  let tail: string[] = []
  let heldBytes = 0
  let droppedBytes = 0
  return { push, end }

  function push(text: string): string {
    const bytes = Buffer.byteLength(text)
    if (heldBytes === 0 && droppedBytes === 0 && bytes <= headBytesLeft) {
      headBytesLeft -= bytes
      return text
    }
    const head = heldBytes === 0 && droppedBytes === 0 ? firstBytes(text, headBytesLeft) : ''
    headBytesLeft = 0
    addToTail(text.slice(head.length))
    return head
  }

  /** Adds the text to the end, and drops the oldest pieces while the others still have `tailBytes`. */
  function addToTail(text: string): void {
    const last = tail.at(-1)
    if (last !== undefined && last.length + text.length < joinBelow) tail[tail.length - 1] = last + text
    else tail.push(text)
    heldBytes += Buffer.byteLength(text)
    let droppedCount = 0
    for (let first = tail[droppedCount]; first !== undefined; first = tail[droppedCount]) {
      const size = Buffer.byteLength(first)
      if (heldBytes - size < tailBytes) break
      heldBytes -= size
      droppedBytes += size
      droppedCount++
    }
    if (droppedCount > 0) tail = tail.slice(droppedCount)
  }

  function end(): ReturnType<Excerpt['end']> {
    const rest = tail.join('')
    const kept = lastBytes(rest, tailBytes)
    const leftOut = droppedBytes + heldBytes - Buffer.byteLength(kept)
    return { text: leftOut === 0 ? rest : `\n… ${leftOut.toLocaleString('en')} bytes left out …\n${kept}`, leftOut }
  }
}

/** Returns the longest beginning that fits into `maxBytes`, cut between characters. */
function firstBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  let end = Math.min(maxBytes, bytes.length)
  while (end > 0 && isInside(bytes, end)) end--
  return bytes.subarray(0, end).toString('utf8')
}

/** Returns the longest end that fits into `maxBytes`, cut between characters. */
function lastBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  let start = Math.max(0, bytes.length - maxBytes)
  while (isInside(bytes, start)) start++
  return bytes.subarray(start).toString('utf8')
}

/** Whether the byte at this index continues a character. False after the last one. */
function isInside(bytes: Uint8Array, index: number): boolean {
  return ((bytes[index] ?? 0) & 0xc0) === 0x80
}
