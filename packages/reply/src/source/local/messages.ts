import type { MessageHead, ReplyEvent } from '../../event.ts'
import type { Part, ReplyFailure, ReplyFile, ToolPart } from '../../part.ts'
import { attachmentID, dataSize } from '../decode/attachment.ts'
import { namedIfSent, sentFile } from '../decode/sent-file.ts'
import { withoutSecrets } from './input.ts'
import type { LocalEnding, LocalFile, LocalOutput } from './output.ts'

type Piece = Extract<LocalOutput, { readonly type: 'text' | 'reasoning' | 'tool' | 'file' | 'usage' }>

interface TextPiece {
  readonly id: string
  readonly type: 'text' | 'reasoning'
  /** The agent's own id of the part. Undefined if it has none. */
  readonly partID: string | undefined
  /** Its text so far. */
  text: string
  readonly raw: unknown
  readonly stream: 'stderr' | undefined
}

interface Message {
  readonly head: MessageHead
  /** The text part that is still growing. */
  open: TextPiece | undefined
  partCount: number
  /** The text parts that have an id of the agent, by that id. */
  readonly texts: Map<string, TextPiece>
}

/** The assistant messages of one run. Each call stores the change and returns its events, for the caller to emit. */
export interface LocalMessages {
  /**
   * Adds a message, or continues the one with this id. Completes the one before it with the finish `tool-calls`. Agent and
   * model default to those of the newest message.
   */
  beginMessage(head: Pick<MessageHead, 'agent' | 'model'> & { readonly id?: string | undefined }): readonly ReplyEvent[]
  /**
   * Adds a piece to the message that it names, or updates its part. Begins the message first if it is new or the run
   * has none.
   */
  addPiece(piece: Piece): readonly ReplyEvent[]
  /** Seals the growing text part. `raw` replaces the part's first `raw`. No events if no text grows. */
  sealText(raw?: unknown): readonly ReplyEvent[]
  /** Completes the current message with the finish `tool-calls`. The next piece begins another one. */
  completeMessage(): readonly ReplyEvent[]
  /** Seals and completes the newest message. Begins one first if the run has none. */
  endLast(end: MessageEnd): readonly ReplyEvent[]
}

/** How a message ends: why the model stopped, or the error. */
interface MessageEnd {
  readonly finish?: string | undefined
  readonly error?: ReplyFailure | undefined
  /** As in `MessageHead`. */
  readonly endsRun?: true | undefined
}

/** The session, prompt, ids and times that a run puts on its events and messages. */
export interface RunStamp {
  readonly sessionID: string
  readonly directory: string | undefined
  /** The id of the user message that they answer. */
  readonly promptID: string
  readonly nextID: () => string
  readonly now: () => number
  /** The time of messages. Undefined for a run of the past whose time is unknown. */
  readonly messageTime: () => number | undefined
}

/**
 * Creates the messages of one run, none yet. It turns the agent's output into the events of messages and parts, which its
 * functions return.
 */
export function createMessages(options: RunStamp): LocalMessages {
  const { sessionID, directory, promptID, nextID, now, messageTime } = options
  const messages = new Map<string, Message>()
  /** The message of each usage part that has a `stepID`, by the part's id. */
  const steps = new Map<string, string>()
  /** Where each call's part is, because a later state of a call belongs to the message that made it. */
  const calls = new Map<string, { readonly messageID: string; readonly id: string }>()
  let current: Message | undefined
  /** The message that began last, which may be complete. */
  let newest: Message | undefined
  return {
    beginMessage,
    addPiece,
    sealText: (raw) => (current ? sealOpenText(current, raw) : []),
    completeMessage,
    endLast: endLastMessage,
  }

  /** Completes the current message. Makes the one with this id the current one, or else a new one. */
  function beginMessage({ id, agent, model }: Parameters<LocalMessages['beginMessage']>[0]): readonly ReplyEvent[] {
    const before = completeMessage()
    const earlier = id === undefined ? undefined : messages.get(id)
    if (earlier) {
      current = earlier
      return before
    }
    const head: MessageHead = {
      id: id ?? nextID(),
      role: 'assistant',
      summary: false,
      parentID: promptID,
      createdAt: messageTime(),
      agent: agent ?? newest?.head.agent,
      model: model ?? newest?.head.model,
      raw: undefined,
    }
    newest = { head, open: undefined, partCount: 0, texts: new Map() }
    current = newest
    messages.set(head.id, newest)
    return [...before, stamped({ type: 'message', message: head })]
  }

  /**
   * Adds a piece to its message, which is begun first if it is new. A tool call's later states go to the call's first
   * message.
   */
  function addPiece(piece: Piece): readonly ReplyEvent[] {
    const call = piece.type === 'tool' ? calls.get(piece.callID) : undefined
    const messageID = call?.messageID ?? piece.messageID
    const begun =
      !current || (messageID !== undefined && !messages.has(messageID)) ? beginMessage({ id: messageID }) : []
    const message = (messageID === undefined ? current : messages.get(messageID)) ?? current
    if (!message) return begun
    return [...begun, ...writePiece(message, piece)]
  }

  /** Completes the current message, so that there is none. Empty if there was none. */
  function completeMessage(): readonly ReplyEvent[] {
    const completed = current
    current = undefined
    return completed ? endMessage(completed, { finish: 'tool-calls' }) : []
  }

  /** Adds a piece to this message: appends a text, replaces one, or adds any other part. */
  function writePiece(message: Message, piece: Piece): readonly ReplyEvent[] {
    if ('delta' in piece) return appendText(message, piece)
    return 'replace' in piece ? replaceText(message, piece) : addOtherPart(message, piece)
  }

  /**
   * Appends to the open text part, or to the part with the piece's id. Otherwise seals the open part and opens a new
   * one.
   */
  function appendText(message: Message, piece: Extract<Piece, { readonly delta: string }>): readonly ReplyEvent[] {
    const { partID } = piece
    const events: ReplyEvent[] = []
    if (message.open?.type !== piece.type || (partID !== undefined && message.open.partID !== partID)) {
      events.push(...sealOpenText(message))
      message.open = textPieceOf(message, piece)
      events.push(partEvent(toTextPart(message, message.open, 'open')))
    }
    const { open } = message
    open.text += piece.delta
    if (piece.delta !== '')
      events.push(
        stamped({ type: 'delta', messageID: message.head.id, partID: open.id, field: 'text', delta: piece.delta }),
      )
    return events
  }

  /**
   * Returns the message's part with the piece's id and type. Otherwise adds an empty part to `texts` and returns it.
   */
  function textPieceOf(message: Message, piece: Extract<Piece, { readonly type: 'text' | 'reasoning' }>): TextPiece {
    const { partID, type, raw } = piece
    const existing = partID === undefined ? undefined : message.texts.get(partID)
    if (existing?.type === type) return existing
    const textPiece: TextPiece = {
      id: nextPartID(message),
      type,
      partID,
      text: '',
      raw,
      stream: 'delta' in piece ? piece.stream : undefined,
    }
    if (partID !== undefined) message.texts.set(partID, textPiece)
    return textPiece
  }

  /** Replaces the whole text of a part, which stays open or sealed. An empty text removes the part. */
  function replaceText(message: Message, piece: Extract<Piece, { readonly replace: string }>): readonly ReplyEvent[] {
    if (piece.replace === '' && !message.texts.has(piece.partID)) return []
    const replaced = textPieceOf(message, piece)
    const isOpen = message.open === replaced
    replaced.text = piece.replace
    if (replaced.text !== '') return [partEvent(toTextPart(message, replaced, isOpen ? 'open' : 'sealed'))]
    if (isOpen) message.open = undefined
    message.texts.delete(piece.partID)
    return [stamped({ type: 'part-removed', messageID: message.head.id, partID: replaced.id })]
  }

  /** Adds or updates a tool call, a step's usage or a file. A new call and a file seal the open text. */
  function addOtherPart(
    message: Message,
    piece: Exclude<Piece, { readonly type: 'text' | 'reasoning' }>,
  ): readonly ReplyEvent[] {
    const messageID = message.head.id
    const { raw } = piece
    if (piece.type === 'usage') {
      const { stepID, tokens, cost } = piece
      const counted = { status: 'sealed', raw, type: 'step-finish', tokens, cost } as const
      if (stepID === undefined) return [partEvent({ ...counted, id: nextPartID(message), messageID })]
      const id = `${promptID}.step.${stepID}`
      // A step counts once, even if later messages report it again.
      const home = steps.get(id) ?? messageID
      steps.set(id, home)
      return [partEvent({ ...counted, id, messageID: home })]
    }
    if (piece.type === 'file') {
      const id = nextPartID(message)
      return [
        ...sealOpenText(message),
        partEvent({ ...toFile(id, piece), messageID, status: 'sealed', raw, type: 'file' }),
      ]
    }
    const { callID, tool, files = [] } = piece
    const earlierCall = calls.get(callID)
    const id = earlierCall?.id ?? nextPartID(message)
    calls.set(callID, { messageID, id })
    const { input, output } = piece.state
    const sent = files.length === 0 ? sentFile(tool, input, output) : undefined
    const attachments = (sent ? [sent] : namedIfSent(files, tool, input, output)).map((file, at) =>
      toFile(attachmentID(id, at), file),
    )
    const state = attachments.length === 0 ? piece.state : { ...piece.state, attachments }
    const isDone = state.status === 'completed' || state.status === 'error'
    const status = isDone ? 'sealed' : 'open'
    const part: ToolPart = { id, messageID, status, raw, type: 'tool', callID, tool, state }
    return [...(earlierCall ? [] : sealOpenText(message)), partEvent(part)]
  }

  /**
   * Closes the message's open text part and returns its event. Empty if none is open. `raw` replaces the part's own.
   */
  function sealOpenText(message: Message, raw?: unknown): readonly ReplyEvent[] {
    const { open } = message
    message.open = undefined
    return open ? [partEvent(toTextPart(message, { ...open, raw: raw ?? open.raw }, 'sealed'))] : []
  }

  /** Builds the part of a text piece, with its text so far. */
  function toTextPart({ head }: Message, open: NonNullable<Message['open']>, status: 'open' | 'sealed'): Part {
    const { id, type, text, raw, stream } = open
    const fields = { id, messageID: head.id, status, text, raw } as const
    return type === 'text' ? { ...fields, type, stream } : { ...fields, type }
  }

  /** Ends the newest message, and completes the current one if it is another. Begins one first if none is current. */
  function endLastMessage(end: MessageEnd): readonly ReplyEvent[] {
    const begun = current ? [] : beginMessage({})
    // The last message tells how the run ended, also if an earlier one was continued.
    const completed = current === newest ? [] : completeMessage()
    return [...begun, ...completed, ...(newest ? endMessage(newest, end) : [])]
  }

  /** Seals the message's open text and completes the message, as of now or the past run's time. */
  function endMessage(message: Message, end: MessageEnd): readonly ReplyEvent[] {
    return [
      ...sealOpenText(message),
      stamped({ type: 'message', message: { ...message.head, ...end, completedAt: messageTime() ?? now() } }),
    ]
  }

  /** Counts the message's parts up and returns the id of the new one. */
  function nextPartID(message: Message): string {
    message.partCount += 1
    return `${message.head.id}.${message.partCount}`
  }

  /** Returns the event of a part's whole current state. */
  function partEvent(part: Part): ReplyEvent {
    return stamped({ type: 'part', part })
  }

  /** Adds the run's session, its directory and the current time to an event. */
  function stamped<const T extends { readonly type: ReplyEvent['type'] }>(fields: T) {
    return { sessionID, directory, at: now(), ...fields }
  }
}

/** Returns a file with this id, and with its size if that is known. */
function toFile(id: string, { mime, url, filename, size = dataSize(url), caption }: LocalFile): ReplyFile {
  return { id, mime, url, filename, size, caption }
}

/** Returns how the last message of a run ends: with a finish, or with an error whose message is without secrets. */
export function endOfLastMessage(ending: LocalEnding, redact: (text: string) => string): MessageEnd {
  switch (ending.type) {
    case 'completed':
      return { finish: ending.finish ?? 'stop', ...(ending.finish === 'tool-calls' && { endsRun: true }) }
    case 'aborted':
      return { error: { name: 'MessageAbortedError', message: 'The run was aborted.', raw: undefined } }
    case 'failed':
    case 'lost':
      return { error: withoutSecrets(ending.error, redact) }
    default:
      return ending satisfies never
  }
}
