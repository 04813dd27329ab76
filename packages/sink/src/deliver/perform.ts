import type { Clock } from '@reply/core'
import { wallTime } from '@reply/core/internal'
import type { Policy } from '../config.ts'
import type { TextFile } from '../ledger/card.ts'
import { type IntentEntry, openStream, refOf } from '../ledger/entry.ts'
import { doneKey, firstAnswerMessage } from '../ledger/keys.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type {
  AppendStream,
  Attachment,
  Bubble,
  ChannelPort,
  Chat,
  EditOptions,
  LookedUp,
  MessageRef,
  PostOptions,
  Render,
} from '../port/port.ts'
import { PortError } from '../port/port-error.ts'
import type { Texts } from '../texts.ts'
import { toAttachment } from '../view/file-name.ts'
import type { Edit, Operation, Post } from './operation.ts'
import { unsentPiece } from './streaming.ts'
import { openIntentOf } from './transitions.ts'

/** The chat that operations change, and what it shows so far. */
export interface OperationTarget {
  readonly ledger: Ledger
  readonly port: ChannelPort
  readonly render: Render
  readonly clock: Clock
  readonly chat: Chat
  readonly replyTo?: MessageRef | undefined
  readonly policy: Pick<Policy, 'repliesToPrompt'>
  readonly texts: Texts
  readonly signal: AbortSignal
  /** Growing text is streamed. */
  readonly stream?: AppendStream | undefined
  /** For a post of files: what was read of them. */
  readonly files?: readonly Attachment[] | undefined
}

/** The result of an operation. Empty unless it was a post or a look-up. */
export interface Performed {
  /** The reference of a posted message. */
  readonly ref?: MessageRef
  /** The result of a look-up. */
  readonly found?: LookedUp
}

/** Performs one operation with the port. Rejects as the port does. */
export async function perform(operation: Operation, target: OperationTarget): Promise<Performed> {
  const { port, chat, signal } = target
  switch (operation.type) {
    case 'post':
      return { ref: await postSlot(operation, target) }
    case 'edit':
      await editMessage(operation, target)
      return {}
    case 'remove':
      await removeOrEmpty(operation.entry.ref, target)
      return {}
    case 'preview':
      if (port.stream?.kind === 'preview') await port.stream.write(operation.slot.bubble, { chat, signal })
      return {}
    case 'look-up':
      return { found: await lookUpPost(operation.entry, target) }
    default:
      return operation satisfies never
  }
}

/** Uploads the slot's file, opens a stream, or posts a message. */
async function postSlot(operation: Post, target: OperationTarget): Promise<MessageRef> {
  const { port, ledger, chat, signal } = target
  const { slot, isLoud } = operation
  const replyTo = replyToOf(operation, target)
  const posting = { chat, signal, replyTo, silent: !isLoud, key: ledger.ids[slot.key] ?? '' }
  if (slot.attachments) return await postFiles(target, posting)
  if (slot.file && port.upload) return await port.upload(textAttachment(slot.file), posting)
  if (target.stream && openIntentOf(ledger, slot)?.kind === 'stream')
    return await target.stream.open(unsentPiece(slot), posting)
  return await port.post(slot.bubble, posting)
}

/** Posts what was read of the slot's files. An album that the port can't post is refused, so that each file is tried by itself. */
async function postFiles({ port, files = [] }: OperationTarget, posting: PostOptions): Promise<MessageRef> {
  const [file, ...more] = files
  const posted = more.length > 0 ? port.uploadAlbum?.(files, posting) : file ? port.upload?.(file, posting) : undefined
  if (posted) return await posted
  throw new PortError('refused', "The port can't post these files.")
}

/** Returns the file to upload for a text. */
function textAttachment({ name, text, caption }: TextFile): Attachment {
  return toAttachment({ name, bytes: new TextEncoder().encode(text) }, caption)
}

/** Edits the message. An open stream is appended to or closed instead. Does nothing if the port can't edit. */
async function editMessage(
  { entry, slot, streamChange }: Edit,
  { port, chat, signal, stream }: OperationTarget,
): Promise<void> {
  const { ref } = entry
  const editing = { chat, signal }
  if (stream && streamChange === 'append')
    return await stream.append(ref, unsentPiece(slot, openStream(entry)), editing)
  if (stream && streamChange === 'close') return await stream.close(ref, unsentPiece(slot, openStream(entry)), editing)
  if (streamChange === 'end') return await closeStreamIfOpen(stream, ref, editing)
  await port.edit?.(ref, slot.bubble, editing)
}

/**
 * Closes a stream with unknown content before it is edited. It may already be closed, so refusals are ignored. Rejects if the
 * result is unknown or the call can be made again.
 */
async function closeStreamIfOpen(
  stream: AppendStream | undefined,
  ref: MessageRef,
  editing: EditOptions,
): Promise<void> {
  try {
    await stream?.close(ref, { text: '', tasks: [] }, editing)
  } catch (error) {
    const { type } = toPortError(error)
    if (type === 'rate-limited' || type === 'unreachable' || type === 'ambiguous') throw error
  }
}

/**
 * Finds out whether a post is in the chat. An idempotent platform responds to a post with a known key with the existing
 * message, so a placeholder is posted there.
 */
async function lookUpPost({ id: key, kind, at }: IntentEntry, target: OperationTarget): Promise<LookedUp> {
  const { port, chat, signal, replyTo, clock } = target
  // The platform has its own clock, and ours may have been ahead of it.
  const since = wallTime(clock) - Math.max(0, clock.now() - at)
  const looking = { chat, signal, key, kind: kind ?? 'message', since, replyTo } as const
  if (!port.limits.idempotent) return (await port.lookUp?.(looking)) ?? { type: 'unknown' }
  return { type: 'there', ref: await port.post(placeholderBubble(target), { chat, signal, key, silent: true }) }
}

/** Removes the message. If the port can't remove messages, edits it to a placeholder. */
async function removeOrEmpty(ref: MessageRef, target: OperationTarget): Promise<void> {
  const { port, chat, signal } = target
  if (port.remove) return await port.remove(ref, { chat, signal })
  await port.edit?.(ref, placeholderBubble(target), { chat, signal })
}

/** Returns the content of a message that counts as removed. */
function placeholderBubble({ render, texts }: OperationTarget): Bubble {
  return { ...render(texts.removed), isPlain: false, source: texts.removed, buttons: [] }
}

/**
 * Returns the message that the post replies to. The first message, the last one of the answer and the ending reply to
 * the prompt's message. The closing "done" line replies to the answer. Undefined for others, unless the policy says
 * that all messages of the answer reply.
 */
function replyToOf({ slot }: Post, { ledger, replyTo, policy }: OperationTarget): MessageRef | undefined {
  const { entries } = ledger
  const { key, card, isLast } = slot
  if (key === doneKey) return newestAnswerRef(entries) ?? replyTo
  const isFirst = key === firstAnswerMessage || entries.every((entry) => entry.key === key && !entry.isReplaced)
  const isOfAnswer = card.type === 'answer' && (isLast === true || policy.repliesToPrompt === 'all')
  return isFirst || isOfAnswer || card.type === 'ending' ? replyTo : undefined
}

/** Returns the reference of the newest answer's message. Undefined if none has one. */
function newestAnswerRef(entries: Ledger['entries']): MessageRef | undefined {
  const refs = entries.filter(({ type }) => type === 'answer').map(refOf)
  return refs.findLast((ref) => ref !== undefined)
}

/** Rate limits of at least this length are reported, in ms. */
const longPauseMs = 60_000

/**
 * Whether the host should know about a failed call. Refused markup and short rate limits only cost a retry, and a
 * stream that was closed early continues by edits.
 */
export function isReported(operation: Operation, { type, retryAfterMs = 0 }: PortError): boolean {
  if (type === 'rate-limited') return retryAfterMs >= longPauseMs
  return (
    type !== 'unparsable' && !(type === 'fixed' && operation.type === 'edit' && operation.streamChange !== undefined)
  )
}

/**
 * Converts anything thrown by a port. Errors other than `PortError` don't say whether the call took effect, so they
 * count as ambiguous.
 */
export function toPortError(error: unknown): PortError {
  if (error instanceof PortError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new PortError('ambiguous', `The port failed with something other than a PortError: ${message}`, {
    cause: error,
  })
}
