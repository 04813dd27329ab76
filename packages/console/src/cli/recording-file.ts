import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Input } from '../terminal/keyboard.ts'
import { ConsoleError } from './error.ts'

/** Yields the bytes of a recording, decompressed if needed. `-` reads standard input. Throws `unreadable`. */
export async function* recordingBytes(file: string, stdin: Input): AsyncGenerator<Uint8Array> {
  try {
    const source: AsyncIterable<Uint8Array> = file === '-' ? stdin : createReadStream(file)
    yield* decompressed(source)
  } catch (cause) {
    throw new ConsoleError('unreadable', `${file} can't be read: ${fileErrorText(cause)}.`, { cause })
  }
}

/** Returns why a file can't be read, in words for the frequent causes, or else the error's message. */
function fileErrorText(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EISDIR') return 'it is a folder'
  if (code === 'EACCES') return 'permission denied'
  return cause instanceof Error ? cause.message : String(cause)
}

/** Yields the bytes, decompressed if they begin like a gzip file. */
async function* decompressed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  const first = await chunks.next()
  if (first.done) return
  const all = withFirst(first.value, chunks)
  if (first.value[0] === 0x1f && first.value[1] === 0x8b) yield* Readable.from(all).compose(createGunzip())
  else yield* all
}

/** Yields the first chunk, then the rest. */
async function* withFirst(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}
