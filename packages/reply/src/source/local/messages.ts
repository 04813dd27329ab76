import type { MessageHead, ReplyEvent } from '../../event.ts'
import type { Part, ReplyFailure, ToolPart } from '../../part.ts'
import { withoutSecrets } from './input.ts'
import type { LocalEnding, LocalOutput } from './output.ts'

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
  parts: number
  /** The text parts that have an id of the agent, by that id. */
  readonly texts: Map<string, TextPiece>
}

/** The messages of one run. Each call returns the events to emit. */
export interface LocalMessages {
  /** Begins a message, or continues the one with this id. Completes the one before it. */
  begin(head: Pick<MessageHead, 'agent' | 'model'> & { readonly id?: string | undefined }): readonly ReplyEvent[]
  put(piece: Piece): readonly ReplyEvent[]
  /** Seals the growing text part. `raw` replaces the part's first `raw`. */
  seal(raw?: unknown): readonly ReplyEvent[]
  /** Completes the current message. The next piece begins another one. */
  complete(): readonly ReplyEvent[]
  /** Ends the last message. Begins one first if the run has none. */
  end(how: { readonly finish?: string | undefined; readonly error?: ReplyFailure | undefined }): readonly ReplyEvent[]
}

export interface MessagesOptions {
  readonly sessionID: string
  readonly directory: string | undefined
  /** The id of the user message that they answer. */
  readonly promptID: string
  readonly nextID: () => string
  readonly now: () => number
  /** The time of messages. Undefined for a run of the past whose time is unknown. */
  readonly messageTime: () => number | undefined
}

export function createMessages(options: MessagesOptions): LocalMessages {
  const { sessionID, directory, promptID, nextID, now, messageTime } = options
  const messages = new Map<string, Message>()
  /** The message of each usage part that has a `stepID`, by the part's id. */
  const steps = new Map<string, string>()
  /** Where each call's part is, because a later state of a call belongs to the message that made it. */
  const calls = new Map<string, { readonly messageID: string; readonly id: string }>()
  let current: Message | undefined
  /** The message that began last, which may be complete. */
  let newest: Message | undefined
  return { begin, put, seal: (raw) => (current ? sealed(current, raw) : []), complete, end }

  function begin({ id, agent, model }: Parameters<LocalMessages['begin']>[0]): readonly ReplyEvent[] {
    const before = complete()
    const known = id === undefined ? undefined : messages.get(id)
    if (known) {
      current = known
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
    newest = { head, open: undefined, parts: 0, texts: new Map() }
    current = newest
    messages.set(head.id, newest)
    return [...before, event({ type: 'message', message: head })]
  }

  function put(piece: Piece): readonly ReplyEvent[] {
    const call = piece.type === 'tool' ? calls.get(piece.callID) : undefined
    const wanted = call?.messageID ?? piece.messageID
    const begun = !current || (wanted !== undefined && !messages.has(wanted)) ? begin({ id: wanted }) : []
    const message = (wanted === undefined ? current : messages.get(wanted)) ?? current
    if (!message) return begun
    return [...begun, ...eventsOf(message, piece)]
  }

  function complete(): readonly ReplyEvent[] {
    const completed = current
    current = undefined
    return completed ? ended(completed, { finish: 'tool-calls' }) : []
  }

  function eventsOf(message: Message, piece: Piece): readonly ReplyEvent[] {
    if ('delta' in piece) return grow(message, piece)
    return 'replace' in piece ? replace(message, piece) : add(message, piece)
  }

  function grow(message: Message, piece: Extract<Piece, { readonly delta: string }>): readonly ReplyEvent[] {
    const { partID } = piece
    const events: ReplyEvent[] = []
    if (message.open?.type !== piece.type || (partID !== undefined && message.open.partID !== partID)) {
      events.push(...sealed(message))
      message.open = textPieceOf(message, piece)
      events.push(partEvent(openPart(message, message.open, 'open')))
    }
    const { open } = message
    open.text += piece.delta
    if (piece.delta !== '')
      events.push(
        event({ type: 'delta', messageID: message.head.id, partID: open.id, field: 'text', delta: piece.delta }),
      )
    return events
  }

  /** Returns the part that this piece names, or else a new empty one. */
  function textPieceOf(message: Message, piece: Extract<Piece, { readonly type: 'text' | 'reasoning' }>): TextPiece {
    const { partID, type, raw } = piece
    const known = partID === undefined ? undefined : message.texts.get(partID)
    if (known?.type === type) return known
    const made: TextPiece = {
      id: nextPart(message),
      type,
      partID,
      text: '',
      raw,
      stream: 'delta' in piece ? piece.stream : undefined,
    }
    if (partID !== undefined) message.texts.set(partID, made)
    return made
  }

  function replace(message: Message, piece: Extract<Piece, { readonly replace: string }>): readonly ReplyEvent[] {
    if (piece.replace === '' && !message.texts.has(piece.partID)) return []
    const replaced = textPieceOf(message, piece)
    const isOpen = message.open === replaced
    replaced.text = piece.replace
    if (replaced.text !== '') return [partEvent(openPart(message, replaced, isOpen ? 'open' : 'sealed'))]
    if (isOpen) message.open = undefined
    message.texts.delete(piece.partID)
    return [event({ type: 'part-removed', messageID: message.head.id, partID: replaced.id })]
  }

  function add(
    message: Message,
    piece: Exclude<Piece, { readonly type: 'text' | 'reasoning' }>,
  ): readonly ReplyEvent[] {
    const messageID = message.head.id
    const { raw } = piece
    if (piece.type === 'usage') {
      const { stepID, tokens, cost } = piece
      const counted = { status: 'sealed', raw, type: 'step-finish', tokens, cost } as const
      if (stepID === undefined) return [partEvent({ ...counted, id: nextPart(message), messageID })]
      const id = `${promptID}.step.${stepID}`
      // A step counts once, even if later messages report it again.
      const home = steps.get(id) ?? messageID
      steps.set(id, home)
      return [partEvent({ ...counted, id, messageID: home })]
    }
    if (piece.type === 'file') {
      const { mime, url, filename } = piece
      const id = nextPart(message)
      return [
        ...sealed(message),
        partEvent({ id, messageID, status: 'sealed', raw, type: 'file', mime, url, filename }),
      ]
    }
    const { callID, tool, state } = piece
    const known = calls.get(callID)
    const id = known?.id ?? nextPart(message)
    calls.set(callID, { messageID, id })
    const isDone = state.status === 'completed' || state.status === 'error'
    const status = isDone ? 'sealed' : 'open'
    const part: ToolPart = { id, messageID, status, raw, type: 'tool', callID, tool, state }
    return [...(known ? [] : sealed(message)), partEvent(part)]
  }

  function sealed(message: Message, raw?: unknown): readonly ReplyEvent[] {
    const { open } = message
    message.open = undefined
    return open ? [partEvent(openPart(message, { ...open, raw: raw ?? open.raw }, 'sealed'))] : []
  }

  function openPart({ head }: Message, open: NonNullable<Message['open']>, status: 'open' | 'sealed'): Part {
    const { id, type, text, raw, stream } = open
    const fields = { id, messageID: head.id, status, text, raw } as const
    return type === 'text' ? { ...fields, type, stream } : { ...fields, type }
  }

  function end(how: Parameters<LocalMessages['end']>[0]): readonly ReplyEvent[] {
    const begun = current ? [] : begin({})
    // The last message tells how the run ended, also if an earlier one was continued.
    const completed = current === newest ? [] : complete()
    return [...begun, ...completed, ...(newest ? ended(newest, how) : [])]
  }

  function ended(message: Message, how: Parameters<LocalMessages['end']>[0]): readonly ReplyEvent[] {
    return [
      ...sealed(message),
      event({ type: 'message', message: { ...message.head, ...how, completedAt: messageTime() ?? now() } }),
    ]
  }

  function nextPart(message: Message): string {
    message.parts += 1
    return `${message.head.id}.${message.parts}`
  }

  function partEvent(part: Part): ReplyEvent {
    return event({ type: 'part', part })
  }

  function event<const T extends { readonly type: ReplyEvent['type'] }>(what: T) {
    return { sessionID, directory, at: now(), ...what }
  }
}

/** How the last message of a run ends. */
export function lastMessage(
  ending: LocalEnding,
  redact: (text: string) => string,
): Parameters<LocalMessages['end']>[0] {
  switch (ending.type) {
    case 'completed':
      return { finish: ending.finish ?? 'stop' }
    case 'aborted':
      return { error: { name: 'MessageAbortedError', message: 'The run was aborted.', raw: undefined } }
    case 'failed':
      return { error: withoutSecrets(ending.error, redact) }
    default:
      return ending satisfies never
  }
}
