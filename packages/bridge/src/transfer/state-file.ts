import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { type FileHandle, link, open, rm, stat } from 'node:fs/promises'
import { BridgeError, messageOf } from '../error.ts'
import { type FileEnd, type FileHeader, type StateRow, toFileHeader, toFileLine } from './decode.ts'

/*
 * A state as a file of JSON lines in UTF-8: a `FileHeader`, the `StateRow`s, and a `FileEnd`. JSON escapes lone surrogates, so
 * that each string survives.
 */

/** How many values and queue entries a state or a file has. */
export interface StateCounts {
  /** Values that have not expired. */
  readonly values: number
  /** Entries of all queues. */
  readonly entries: number
}

const header: FileHeader = { format: 'reply bridge state', version: 1 }

/** Written at once, in UTF-16 units. */
const chunkLength = 65_536
/** The first line is searched in this many bytes. */
const headerBytes = 1000

/** Throws a `BridgeError` if there is a file with this name. */
export function requireNewFile(file: string): void {
  if (existsSync(file)) throw existsError(file)
}

/**
 * Writes rows to a new file that only its owner can read. Resolves with how many there are once the file is on the disk. If it
 * rejects, there is no such file: it has another name until it is complete. Rejects with a `BridgeError` if there is one
 * already or if it can't be written, and with the errors of the rows.
 */
export async function writeStateFile(file: string, rows: AsyncIterable<StateRow>): Promise<StateCounts> {
  const partial = `${file}.${randomUUID()}.part`
  const handle = await withFileErrors(file, 'written', open(partial, 'wx', 0o600))
  try {
    const counts = await writeRows(handle, rows, file)
    await withFileErrors(file, 'written', handle.sync())
    // Unlike a rename, this fails if the name is taken.
    await link(partial, file).catch((cause: unknown) => {
      if (existsSync(file)) throw existsError(file)
      throw fileError(file, 'written', cause)
    })
    return counts
  } finally {
    await handle.close()
    await rm(partial, { force: true })
  }
}

/** Writes all lines of a file, and resolves with the number of rows. Rejects like `writeStateFile`. */
async function writeRows(handle: FileHandle, rows: AsyncIterable<StateRow>, file: string): Promise<StateCounts> {
  const hash = createHash('sha256')
  let values = 0
  let entries = 0
  let chunk = lineOf(header)
  for await (const row of rows) {
    if ('key' in row) values++
    else entries++
    chunk += lineOf(row)
    if (chunk.length >= chunkLength) await flush()
  }
  await flush()
  const counts = { values, entries }
  chunk = lineOf({ ...counts, sha256: hash.digest('hex') } satisfies FileEnd)
  await withFileErrors(file, 'written', handle.writeFile(chunk))
  return counts

  /** Writes the chunk, and adds it to the checksum. */
  async function flush(): Promise<void> {
    hash.update(chunk)
    await withFileErrors(file, 'written', handle.writeFile(chunk))
    chunk = ''
  }
}

/** Returns a value as a line of JSON. */
function lineOf(value: FileHeader | StateRow | FileEnd): string {
  return `${JSON.stringify(value)}\n`
}

/**
 * Reads the rows of a file, and throws a `BridgeError` if the file can't be read, has no state, or was written by a newer version.
 * A file that was cut off or changed is only found at its end at the latest, so use its rows once it has been read completely.
 */
export async function* readStateFile(file: string): AsyncGenerator<StateRow> {
  await requireHeader(file)
  const hash = createHash('sha256')
  let values = 0
  let entries = 0
  let end: FileEnd | undefined
  let isHeader = true
  for await (const line of linesOf(file)) {
    const row = isHeader ? undefined : toFileLine(line.toString())
    if (end || (!isHeader && !row) || line.at(-1) !== newline) throw changedError(file)
    isHeader = false
    if (row && 'sha256' in row) {
      end = row
      continue
    }
    hash.update(line)
    if (!row) continue
    if ('key' in row) values++
    else entries++
    yield row
  }
  if (end?.sha256 !== hash.digest('hex') || end.values !== values || end.entries !== entries) throw changedError(file)
}

/** Rejects with a `BridgeError` unless a file begins like one that this version can read. */
async function requireHeader(file: string): Promise<void> {
  const head = await withFileErrors(file, 'read', headOf(file))
  const found = toFileHeader(head.split('\n')[0] ?? '')
  if (!found)
    throw new BridgeError('state', `${file} has no state of a bridge. Name one that "reply bridge state export" wrote.`)
  if (found.version > header.version)
    throw new BridgeError(
      'state',
      `${file} has version ${found.version} of the format, and this bridge knows up to ${header.version}. Install the newer bridge.`,
    )
}

/** Reads the beginning of a regular file. A pipe can't be read twice, and a device may have no end. */
async function headOf(file: string): Promise<string> {
  if (!(await stat(file)).isFile()) throw new Error('it is not a regular file')
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headerBytes))
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

const newline = 0x0a

/**
 * Reads the lines of a file with their ends. The last one may lack it. Node's `readline` also splits lines at U+2028, which JSON
 * doesn't escape.
 */
async function* linesOf(file: string): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  const chunks: AsyncIterable<Buffer> = createReadStream(file)
  try {
    for await (const chunk of chunks) {
      let from = 0
      for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
        yield Buffer.concat([...parts, chunk.subarray(from, at + 1)])
        parts = []
        from = at + 1
      }
      if (from < chunk.length) parts.push(chunk.subarray(from))
    }
  } catch (cause) {
    throw fileError(file, 'read', cause)
  }
  if (parts.length > 0) yield Buffer.concat(parts)
}

/** Resolves as a call does. Rejects with a `BridgeError` that names the file and the error. */
async function withFileErrors<Result>(file: string, verb: 'read' | 'written', call: Promise<Result>): Promise<Result> {
  try {
    return await call
  } catch (cause) {
    throw fileError(file, verb, cause)
  }
}

/** Returns the error of a file that can't be read or written. */
function fileError(file: string, verb: 'read' | 'written', cause: unknown): BridgeError {
  return new BridgeError('state', `${file} could not be ${verb}: ${messageOf(cause)}.`, { cause })
}

/** Returns the error of a file whose name is taken. */
function existsError(file: string): BridgeError {
  return new BridgeError('state', `${file} already exists. Choose another file.`)
}

/** Returns the error of a file that is not as it was written. */
function changedError(file: string): BridgeError {
  return new BridgeError(
    'state',
    `${file} is not complete, or was changed after the export. Copy it again, or export the state again.`,
  )
}
