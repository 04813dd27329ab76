import { type Clock, type Reply, ReplyError, type ReplyFile } from '@reply/core'
import { dataBytes, pause } from '@reply/core/internal'
import { fileFacts } from '@reply/core/show'
import type { Slot } from '../layout/slot.ts'
import type { AttachedFile } from '../ledger/card.ts'
import { defaultFileLimits, type FileLimits, tooLargeForChat } from '../port/limits.ts'
import type { Attachment } from '../port/port.ts'
import { FileRefusal, PortError } from '../port/port-error.ts'
import { captionOf, nameOfFile } from '../view/attachment.ts'
import { toAttachment } from '../view/file-name.ts'

/** What a file is read for. */
export interface FileRequest {
  /** The directory of the session that the file is from, as the server spells it. Absent if it is unknown. */
  readonly directory: string | undefined
  /** That session. */
  readonly sessionID: string
  /** The most bytes that the chat takes. */
  readonly maxBytes: number
  /** Aborts when the bytes are no longer needed. */
  readonly signal: AbortSignal
}

/**
 * Reads the bytes of a file of a reply. The agent chose the file's address, so read only what it may send to people. For a file that
 * can't be read, rejects with a `ReplyError`, a `PortError` or a `FileRefusal`: its message is posted in place of the file.
 */
export type ReadFile = (file: ReplyFile, request: FileRequest) => Promise<Uint8Array>

/** The files of one post at a time, read right before it. */
export interface FileLoader {
  /** Begins to read the slot's files, unless that is under way, and drops those of another slot. True for a slot without files. */
  isLoaded(slot: Slot, reply: Reply): boolean
  /** Whether the slot's files are being read. */
  isLoading(slot: Slot): boolean
  /** What was read for the slot, or why that is impossible. Undefined unless `isLoaded`. */
  loadedFor(slot: Slot): readonly Attachment[] | FileRefusal | undefined
  /** Drops what was read, unless it is still being read. */
  dropLoaded(): void
  /** Drops what was read or is being read. */
  release(): void
}

/** The most posts of this process whose files are in memory at a time. Each has at most `mostBytes`. */
const mostPosts = 2

/** Files with more bytes are not sent, whatever a platform takes, because they are in memory while they are sent. */
const mostBytes = 50_000_000

/** How long reading the files of one post may take, in ms. */
const readMs = 60_000

/** Ends the waits for a place, first come, first served. */
const waiting: (() => void)[] = []
let freePosts = mostPosts

/** Resolves when fewer than `mostPosts` posts are in memory, with the function that frees the place again. */
async function takePlace(): Promise<() => void> {
  if (freePosts > 0) freePosts -= 1
  else await new Promise<void>((resolve) => void waiting.push(resolve))
  let isFree = false
  return () => {
    if (isFree) return
    isFree = true
    const next = waiting.shift()
    if (next) next()
    else freePosts += 1
  }
}

/** Reads a `data:` URL, and refuses other addresses, which only a host can read. */
const readDataOnly: ReadFile = async (file) => {
  const { url } = file
  if (!/^data:/i.test(url))
    throw new FileRefusal('refused', `The file ${nameOfFile(file)} stays with its agent: ${url}`)
  const bytes = dataBytes(url)
  if (!bytes) throw new FileRefusal('refused', `The file ${nameOfFile(file)} has a malformed \`data:\` URL.`)
  return bytes
}

/** Creates the loader of one reply's files. `onLoaded` is called when `isLoaded` may have become true. */
export function createFileLoader({
  readFile = readDataOnly,
  limits: { maxBytes, postBytes = maxBytes } = defaultFileLimits,
  clock,
  onLoaded,
}: {
  readonly readFile?: ReadFile | undefined
  readonly limits?: FileLimits | undefined
  readonly clock: Clock
  readonly onLoaded: () => void
}): FileLoader {
  let current:
    | { readonly key: string; readonly abort: AbortController; result?: readonly Attachment[] | FileRefusal }
    | undefined
  return {
    isLoaded: (slot, reply) => {
      const { attachments } = slot
      if (!attachments) return true
      if (current?.key !== slot.key) start(slot.key, attachments, reply)
      return current?.result !== undefined
    },
    isLoading: ({ key }) => current?.key === key && current.result === undefined,
    loadedFor: ({ key }) => (current?.key === key ? current.result : undefined),
    dropLoaded: () => {
      if (current?.result) release()
    },
    release,
  }

  /** Begins to read these files for the post with that key. */
  function start(key: string, attachments: readonly AttachedFile[], reply: Reply): void {
    release()
    const mine: NonNullable<typeof current> = { key, abort: new AbortController() }
    current = mine
    const { signal } = mine.abort
    void takePlace().then(async (leave) => {
      signal.addEventListener('abort', leave)
      if (signal.aborted) return leave()
      const result = await readAll(attachments, reply, signal)
      if (signal.aborted) return
      mine.result = result
      onLoaded()
    })
  }

  /** Frees the place and the bytes of the current post. */
  function release(): void {
    current?.abort.abort()
    current = undefined
  }

  /** Reads files one after the other. Resolves with a refusal if one of them can't be read or the whole is too large. */
  async function readAll(
    attachments: readonly AttachedFile[],
    reply: Reply,
    signal: AbortSignal,
  ): Promise<readonly Attachment[] | FileRefusal> {
    const read: Attachment[] = []
    let left = Math.min(attachments.length > 1 ? postBytes : maxBytes, mostBytes)
    for (const { key, file } of attachments) {
      const { sessionID, directory = reply.directory } = replyOf(key, reply)
      const request = { sessionID, directory, maxBytes: Math.min(left, maxBytes), signal }
      try {
        const bytes = await withinTime(readFile(file, request), file, signal)
        if (bytes.length > request.maxBytes) throw tooLargeForChat(nameOfFile(file), bytes.length, request.maxBytes)
        left -= bytes.length
        read.push(toAttachment({ name: fileFacts(file).name, mime: file.mime, bytes }, captionOf(file)))
      } catch (error) {
        return toRefusal(error, file)
      }
    }
    return read
  }

  /** Resolves as the read does. Rejects if it takes more than `readMs`. */
  async function withinTime(read: Promise<Uint8Array>, file: ReplyFile, signal: AbortSignal): Promise<Uint8Array> {
    const ended = new AbortController()
    const stop = (): void => ended.abort()
    signal.addEventListener('abort', stop)
    const late = pause(clock, readMs, ended.signal).then(() => {
      throw new FileRefusal('refused', `The file ${nameOfFile(file)} could not be read in time.`)
    })
    try {
      return await Promise.race([read, late])
    } finally {
      signal.removeEventListener('abort', stop)
      late.catch(() => {})
      stop()
    }
  }
}

/** Returns the reply of the sub-agent that sent the file with this key. The reply itself for its own files. */
function replyOf(key: string, reply: Reply): Reply {
  const found = reply.children.map((child) => replyOf(key, child.reply))
  return found.find(({ sessionID }) => key.startsWith(`${sessionID}/`)) ?? reply
}

/** Returns the refusal for a file that can't be read. Only errors that are made for people keep their message. */
function toRefusal(error: unknown, file: ReplyFile): FileRefusal {
  if (error instanceof FileRefusal) return error
  const isLarge =
    (error instanceof ReplyError && error.type === 'too-large') ||
    (error instanceof PortError && error.type === 'too-long')
  const isClear = error instanceof ReplyError || error instanceof PortError
  const message = isClear ? error.message : `The file ${nameOfFile(file)} can't be read.`
  return new FileRefusal(isLarge ? 'too-long' : 'refused', message, { cause: error })
}
