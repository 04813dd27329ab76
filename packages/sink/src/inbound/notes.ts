import type { Clock } from '@reply/core'
import { pause } from '@reply/core/internal'
import { type ChatPace, callHeedingLimits, pacerOf } from '../deliver/pace.ts'
import { toPortError } from '../deliver/perform.ts'
import { TooLateError, waitForTurn } from '../deliver/wait-for-turn.ts'
import { type Slice, split } from '../markdown/split.ts'
import { backOffMs } from '../port/back-off.ts'
import type { ButtonLimits } from '../port/limits.ts'
import type { Bubble, Button, ChannelPort, Chat, MessageRef, Render } from '../port/port.ts'
import { FileRefusal, PortError } from '../port/port-error.ts'
import { wellFormedPort, withoutHalf } from '../port/well-formed.ts'
import { toAttachment } from '../view/file-name.ts'
import { clip } from '../view/format.ts'
import type { BridgeConnection, Note, NoteFile } from './bridge-channel.ts'

/** The client whose limits the notes share, and how to write in a chat. */
export interface NotesTarget {
  /** The platform's client, as the channel's sinks know it. */
  readonly client: object
  /** Returns the port and the renderer for a chat. */
  readonly writerOf: (chat: Chat) => NoteWriter
  /** Times the turns and the pauses. */
  readonly clock: Clock
}

/** How to write notes in one chat. */
export interface NoteWriter {
  /** The chat's port. */
  readonly port: ChannelPort
  /** Writes Markdown in the platform's markup. */
  readonly render: Render
}

/** How long a note is retried by default, in ms. */
const noteMs = 60_000

/** A note that is too long is not cut into pieces shorter than this, in the unit of `Limits.maxLength`. */
const leastLength = 100

/**
 * Creates the part of a bridge's connection that posts, edits and types outside of replies. Calls share the rate limits of
 * `client` with the channel's sinks.
 */
export function createNotes({
  client,
  writerOf,
  clock,
}: NotesTarget): Pick<BridgeConnection, 'post' | 'edit' | 'typing'> {
  return { post, edit, typing }

  /**
   * Posts the note in as many messages as it takes. If the platform refuses one as too long, tries pieces of half the
   * length.
   */
  async function post(note: Note): Promise<readonly MessageRef[]> {
    const { chat, replyTo, silent = false, signal = newSignal() } = note
    const { port, render } = writerFor(note)
    if (note.file) return [await postFile(note, note.file, { port, render })]
    const refs: MessageRef[] = []
    let maxLength = maxLengthOf(port, note)
    let from: Pick<Slice, 'to' | 'open'> = { to: 0, open: undefined }
    do {
      const slice = note.isPlain
        ? plainSlice(note.text, maxLength, from.to)
        : markdownSlice(note.text, maxLength, from, { port, render })
      const isLast = note.text.slice(slice.to).trim() === ''
      const isFirst = refs.length === 0
      const part = { ...note, ...(!isLast && { buttons: [] }), ...(!isFirst && { mentions: [] }) }
      const bubble = noteBubble(slice.source.trim(), part, { port, render })
      const posting = { chat, silent, signal, key: newKey(), ...(isFirst && { replyTo }) }
      try {
        refs.push(await callWithRetries(note, bubble, (one) => port.post(one, posting), 'post'))
      } catch (error) {
        maxLength >>= 1
        if (maxLength < leastLength || toPortError(error).type !== 'too-long') throw error
        continue
      }
      if (isLast) return refs
      from = slice
    } while (from.to < note.text.length)
    return refs
  }

  /** Posts a file with the note's text as its caption. Rejects with a `FileRefusal` if the channel takes no files, or not this one. */
  async function postFile(note: Note, file: NoteFile, { port, render }: NoteWriter): Promise<MessageRef> {
    const { chat, text, replyTo, silent = false, signal = newSignal() } = note
    const { upload } = port
    const attachment = toAttachment(file, text)
    if (!upload)
      throw new FileRefusal('refused', `The file ${attachment.name} can't be sent: this chat takes no files.`)
    const posting = { chat, silent, signal, replyTo, key: newKey() }
    const caption = noteBubble(text, { ...note, buttons: [] }, { port, render })
    return await callWithRetries(note, caption, () => upload(attachment, posting).catch(refuse), 'post')

    /** Says that the platform refused this file. An error that is not about the file stays as it is. */
    function refuse(error: unknown): never {
      const { type, isOfChat } = toPortError(error)
      if (error instanceof FileRefusal || isOfChat || (type !== 'refused' && type !== 'too-long')) throw error
      throw new FileRefusal(type, `The file ${attachment.name} can't be sent to this chat.`, { cause: error })
    }
  }

  /**
   * Edits a message, with retries. Throws `refused` if the channel can't edit, and `too-long` if the text doesn't fit
   * one message.
   */
  async function edit(ref: MessageRef, note: Note): Promise<void> {
    const { chat, signal = newSignal() } = note
    const { port, render } = writerFor(note)
    if (!port.edit || !port.limits.edits)
      throw new PortError('refused', 'This channel cannot edit messages. Post a new one.')
    const bubble = noteBubble(note.text, note, { port, render })
    if (bubble.length > maxLengthOf(port, note))
      throw new PortError(
        'too-long',
        `The text is too long for one message: ${bubble.length}, at most ${maxLengthOf(port, note)}.`,
      )
    // Edits are idempotent.
    await callWithRetries(note, bubble, async (one) => await port.edit?.(ref, one, { chat, signal }), 'edit')
  }

  /**
   * Shows the typing notice. Does nothing while the platform has requested a pause, or if it counts notices and the budget is
   * used. Ignores failures.
   */
  async function typing(chat: Chat): Promise<void> {
    const { port } = writerOf(chat)
    const pace = paceOf(chat, port)
    if (!port.typing || pace.typingReadyAt() > clock.now()) return
    const endCall = pace.startTyping()
    // Errors are ignored: the next message shows the activity anyway.
    await callHeedingLimits(pace, async () => await port.typing?.(true, { chat, signal: newSignal() })).catch(() => {})
    endCall()
  }

  /** Returns the chat's writer for well-formed text, which doesn't format plain notes. */
  function writerFor({ chat, isPlain }: Note): NoteWriter {
    const { port, render } = writerOf(chat)
    return { port: wellFormedPort(port), render: isPlain ? unformatted : render }
  }

  /** Returns the chat's pace, which its notes share with the sinks of the client. */
  function paceOf(chat: Chat, { limits }: ChannelPort): ChatPace {
    return pacerOf(client, clock).chat(chat, limits)
  }

  /**
   * Makes a call, and retries it until the note expires if it had no effect or is idempotent. Sends the text without
   * markup if the platform refuses the markup. Rejects with the failure that ended the tries, or with the signal's reason.
   */
  async function callWithRetries<T>(
    { chat, signal, until = clock.now() + noteMs }: Note,
    firstBubble: Bubble,
    make: (bubble: Bubble) => Promise<T>,
    kind: 'post' | 'edit',
  ): Promise<T> {
    const { port } = writerOf(chat)
    const pace = paceOf(chat, port)
    const isRepeatable = kind === 'edit' || port.limits.idempotent
    const turn = { signal, until, what: `a note in chat ${chat.id}`, kind }
    let bubble = firstBubble
    for (let failures = 0; ; failures++) {
      try {
        return await waitForTurn(pace, clock, () => make(bubble), turn)
      } catch (error) {
        if (signal?.aborted || error instanceof TooLateError) throw error
        const failure = toPortError(error)
        if (failure.type === 'unparsable' && !bubble.isPlain) {
          bubble = { ...bubble, text: bubble.plain, isPlain: true }
          continue
        }
        const isRepeatedInDoubt = failure.type === 'ambiguous' && isRepeatable
        // After a rate limit the next turn waits until the platform's pause has ended.
        if (failure.type === 'rate-limited') continue
        if (failure.type !== 'unreachable' && !isRepeatedInDoubt) throw failure
        const waitMs = backOffMs(failures)
        if (clock.now() + waitMs > until) throw failure
        await pause(clock, waitMs, signal)
      }
    }
  }
}

/** Returns a new idempotency key of 32 characters. */
function newKey(): string {
  return crypto.randomUUID().replaceAll('-', '')
}

/** Returns the maximum length of a message of the note. It may be less with buttons. */
function maxLengthOf({ limits }: ChannelPort, { buttons = [] }: Note): number {
  const { maxLength, buttons: allowed } = limits
  return buttons.length === 0 ? maxLength : Math.min(maxLength, allowed?.maxLength ?? maxLength)
}

/** Returns the slice of Markdown that follows the slice `after`. Throws `refused` if there is no text. */
function markdownSlice(
  text: string,
  maxLength: number,
  after: Pick<Slice, 'to' | 'open'>,
  { port, render }: NoteWriter,
): Slice {
  const measure = (source: string): number => render(source).length
  const options = { maxLength, measure, escapable: port.limits.escapable, from: after.to, open: after.open }
  const [slice] = text.trim() === '' ? [] : split(text, options)
  if (slice) return slice
  throw new PortError('refused', 'A note needs a text.')
}

/**
 * Returns the slice of plain text that begins at `startIndex`. It ends at the last line break that fits, or else within a
 * line. Throws `refused` if there is no text.
 */
function plainSlice(text: string, maxLength: number, startIndex: number): Slice {
  const rest = text.slice(startIndex, startIndex + maxLength + 1)
  if (rest.trim() === '') throw new PortError('refused', 'A note needs a text.')
  const line = rest.lastIndexOf('\n')
  const source =
    rest.length <= maxLength ? rest : line > 0 ? rest.slice(0, line) : withoutHalf(rest.slice(0, maxLength))
  return { from: startIndex, to: startIndex + source.length, source, open: undefined }
}

/** Keeps the text as it is. */
const unformatted: Render = (source) => ({ text: source, plain: source, length: source.length })

/** Renders the text with the note's mentions, and with its buttons if the platform has buttons. */
function noteBubble(source: string, note: Note, { port, render }: NoteWriter): Bubble {
  const { buttons = [], isPlain = false, mentions = [] } = note
  const { buttons: allowed } = port.limits
  const rows = allowed ? wrappedRows(buttons, allowed) : []
  return { ...render(source), source, isPlain, buttons: rows, ...(mentions.length > 0 && { mentions }) }
}

/**
 * Wraps rows that have more buttons than the platform allows, and clips labels. Throws `refused` if there are too many
 * rows or a button's data is too large.
 */
function wrappedRows(
  rows: readonly (readonly Button[])[],
  { perRow, rows: maxRows, label: maxLabel, data: maxBytes }: ButtonLimits,
): readonly (readonly Button[])[] {
  const long = rows.flat().find((button) => new TextEncoder().encode(button.data).length > maxBytes)
  if (long) throw new PortError('refused', `The data of the button "${long.label}" has more than ${maxBytes} bytes.`)
  const wrapped = rows.flatMap((row) =>
    Array.from({ length: Math.ceil(row.length / perRow) }, (_, index) =>
      row
        .slice(index * perRow, (index + 1) * perRow)
        .map((button) => ({ ...button, label: clip(button.label, maxLabel) })),
    ),
  )
  if (wrapped.length <= maxRows) return wrapped
  throw new PortError('refused', `${wrapped.length} rows of buttons are too many; the maximum is ${maxRows}.`)
}

/**
 * Returns a signal that never aborts. It is new for each call, because Node warns about a shared one with many
 * listeners.
 */
function newSignal(): AbortSignal {
  return new AbortController().signal
}
