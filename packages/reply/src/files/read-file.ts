import { type FileHandle, realpath } from 'node:fs/promises'
import { parse, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ReplyError } from '../error.ts'
import type { ReplyFile } from '../part.ts'
import { fileFacts } from '../show/file.ts'
import { byteSize } from '../show/numbers.ts'
import { dataBytes, dataSize } from '../source/decode/attachment.ts'
import { escapeInvisible } from '../text/escape-invisible.ts'
import { isInside, kindOf } from './inside.ts'
import { codeOf, openInside } from './open-inside.ts'

/** Which files may be read, and how much. */
export interface FileRights {
  /**
   * The session's directory, if it is on this computer. A path and a `file:` URL are only read inside of it, after links
   * were followed. Without a directory, neither is read.
   */
  readonly directory: string | undefined
  /** The largest file that is read, in bytes. */
  readonly maxBytes: number
  /**
   * Downloads the file at an `http(s):` address, which an agent chose. It decides which addresses are allowed, also after
   * a redirect. Its errors are passed on. Default: web addresses are refused.
   */
  readonly download?: ((url: string, maxBytes: number) => Promise<Uint8Array>) | undefined
}

/**
 * Reads the bytes of a reply's file. Rejects with a `ReplyError`, whose message is a sentence for people that names the
 * file: with `too-large` beyond `maxBytes`, also if the file grows while it is read, and with `unreadable` for every other
 * file that can't or may not be read.
 */
export async function readReplyFile(file: ReplyFile, rights: FileRights): Promise<Uint8Array> {
  const { url } = file
  const what = `The file ${nameOf(file)}`
  // A single letter is a drive of Windows.
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase()
  switch (scheme) {
    case 'data':
      return readData(url, what, rights.maxBytes)
    case 'http':
    case 'https':
      return await readWeb(url, what, rights)
    case 'file':
    case undefined:
      return await readLocal(scheme === 'file' ? pathOf(url, what) : url, what, rights)
    default:
      throw unreadable(what, `has an address that only its agent can read: it begins with ${scheme}:`)
  }
}

/** The file's name for a sentence, cut to 80 characters, without line breaks and hidden characters. */
function nameOf(file: ReplyFile): string {
  const characters = [...escapeInvisible(fileFacts(file).name.replace(/\s+/g, ' '))]
  return characters.length > 80 ? `${characters.slice(0, 79).join('')}…` : characters.join('')
}

/** Downloads a file, if the rights allow it. */
async function readWeb(url: string, what: string, { download, maxBytes }: FileRights): Promise<Uint8Array> {
  if (!download) throw unreadable(what, 'is on the web, and files are not downloaded from there')
  const bytes = await download(url, maxBytes)
  if (bytes.length > maxBytes) throw tooLarge(what, bytes.length, maxBytes)
  return bytes
}

/** Decodes the content of a `data:` URL. */
function readData(url: string, what: string, maxBytes: number): Uint8Array {
  if (!/^data:[^,]*,/i.test(url)) throw unreadable(what, 'has a `data:` URL without content')
  const size = dataSize(url) ?? 0
  if (size > maxBytes) throw tooLarge(what, size, maxBytes)
  const bytes = dataBytes(url)
  if (!bytes) throw unreadable(what, 'has a `data:` URL whose Base64 is malformed')
  if (bytes.length > maxBytes) throw tooLarge(what, bytes.length, maxBytes)
  return bytes
}

/** The path of a `file:` URL. */
function pathOf(url: string, what: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    throw unreadable(what, 'has a malformed `file:` URL, or one of another computer')
  }
}

/** Reads a file of this computer. A relative path counts from the session's directory. */
async function readLocal(path: string, what: string, { directory, maxBytes }: FileRights): Promise<Uint8Array> {
  if (directory === undefined) throw unreadable(what, "is not on this computer, or its session's directory is unknown")
  const handle = await openIn(directory, path, what)
  try {
    return await readAll(handle, { what, path, maxBytes })
  } catch (error) {
    throw error instanceof ReplyError ? error : problemOf(error, what)
  } finally {
    await handle.close()
  }
}

/** Opens a regular file inside of the directory. */
async function openIn(directory: string, path: string, what: string): Promise<FileHandle> {
  const home = await realpath(directory).catch((error: unknown) => {
    throw missing.has(codeOf(error)) ? unreadable(what, notHere(directory), error) : problemOf(error, what)
  })
  // Else the files of /proc, which have this program's secrets, would be inside.
  if (home === parse(home).root) throw unreadable(what, "can't be read: its session works in the root of all files")
  const place = resolve(directory, path)
  const found = await openInside(home, place)
  switch (found.type) {
    case 'opened':
      return found.handle
    case 'outside':
      throw outside(what, isInside(resolve(directory), place))
    case 'irregular':
      throw unreadable(what, `is ${kindOf(found.stats)}`)
    case 'failed':
      throw problemOf(found.cause, what)
    default:
      return found satisfies never
  }
}

/** Reads as many bytes at a time as the file has left, within these limits. */
const leastBytes = 64 * 1024
const mostBytes = 1024 * 1024

/** Reads a file to its end, also if it grows meanwhile. */
async function readAll(
  handle: FileHandle,
  { what, path, maxBytes }: { readonly what: string; readonly path: string; readonly maxBytes: number },
): Promise<Uint8Array> {
  const { size } = await handle.stat()
  if (size > maxBytes) throw tooLarge(what, size, maxBytes, path)
  const pieces: Buffer[] = []
  let length = 0
  for (;;) {
    const piece = Buffer.alloc(Math.min(mostBytes, Math.max(size - length, leastBytes)))
    const { bytesRead } = await handle.read(piece, 0, piece.length, null)
    if (bytesRead === 0) return Buffer.concat(pieces)
    length += bytesRead
    if (length > maxBytes)
      throw new ReplyError('too-large', `${what} grew beyond ${byteSize(maxBytes)} while it was read.`)
    pieces.push(piece.subarray(0, bytesRead))
  }
}

/** The system's codes for a path that leads nowhere. */
const missing: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR'])

/** By the system's code: why a file can't be read. */
const reasons: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'is not there any more'],
  ['ENOTDIR', 'is not there any more'],
  ['ENAMETOOLONG', 'has a name that is too long'],
  // Node refuses a zero byte.
  ['ERR_INVALID_ARG_VALUE', 'has a name that no file can have'],
  ['ELOOP', 'is a link that leads to itself'],
  ['EACCES', 'may not be read by this program'],
  ['EPERM', 'may not be read by this program'],
  ['ENXIO', 'is a pipe or a socket'],
])

/** The error for what the system reports. */
function problemOf(cause: unknown, what: string): ReplyError {
  const code = codeOf(cause)
  return unreadable(what, reasons.get(code) ?? `can't be read (${String(code ?? cause)})`, cause)
}

/** The file may well exist: in a container, or on the computer of its agent. */
function notHere(directory: string): string {
  return `can't be read: its session's directory ${shownPath(directory)} is not on this computer`
}

/** A path for a sentence, cut to 200 characters, with hidden characters written out. */
function shownPath(path: string): string {
  const characters = [...escapeInvisible(path)]
  return characters.length > 200 ? `…${characters.slice(-199).join('')}` : characters.join('')
}

function outside(what: string, isLink: boolean): ReplyError {
  return unreadable(what, isLink ? "is a link out of its session's directory" : "is outside of its session's directory")
}

function unreadable(what: string, why: string, cause?: unknown): ReplyError {
  return new ReplyError('unreadable', `${what} ${why}.`, { cause })
}

/** `path`: where people find it. */
function tooLarge(what: string, size: number, maxBytes: number, path?: string): ReplyError {
  const sizes = `it has ${byteSize(size)}, and the limit is ${byteSize(maxBytes)}`
  const where = path === undefined ? '' : ` It lies at ${shownPath(path)}, on the agent's computer.`
  return new ReplyError('too-large', `${what} is too large: ${sizes}.${where}`)
}
