import { systemClock } from '@reply/core'
import { wallTime } from '@reply/core/internal'
import { createSink, type Inbound, type Sink, type SinkPlace, type Texts } from '@reply/sink'
import {
  type ChannelOptions,
  type ChannelSinkOptions,
  createInboundReceiver,
  inboundOptionsOf,
  pacerOf,
  placeOf,
} from '@reply/sink/channel'
import { clip, createRecent, type InboundOptions } from '@reply/sink/internal'
import { toBaileysPortError, WhatsAppError } from '../error.ts'
import { albumGapMs, announcedGapMs, baileysLimits, textLength } from '../limits.ts'
import { escapeWhatsApp, renderWhatsApp } from '../render.ts'
import { sharedAccountState } from './account-state.ts'
import { type BaileysEvents, type BaileysSocket, type BaileysSource, chatOf, quotableIn } from './api.ts'
import {
  type AnnouncedAlbum,
  type BaileysReceived,
  isWrapped,
  toReceived,
  toRefusedMessage,
  type Unwrap,
  withChatAndActor,
} from './inbound.ts'
import { createBaileysPort } from './port.ts'

/** Options of `baileysSink`. */
export interface BaileysSinkOptions extends ChannelSinkOptions {
  /**
   * A socket of `makeWASocket()`, or a function that returns the current one. Sinks on the same one share its rate
   * limits.
   */
  readonly socket: BaileysSource
  /** The person or group to write to. */
  readonly jid: string
  /**
   * The message to reply to and to mark as read: its id, a slash and its author, as in an inbound's `messageRef.id`.
   */
  readonly replyTo?: string | undefined
  /** Default: English. Questions name the numbers that answer them. */
  readonly texts?: Partial<Texts> | undefined
}

/**
 * Without buttons, people answer by number, and in groups only by a reply to the message. Each number always means the
 * same.
 */
const numberedTexts: Partial<Texts> = {
  replyPermission: (always) =>
    `Reply to this message with 1 to allow it once${always ? ', 2 to allow it always' : ''}, or 3 to reject it. You can also write "reject" and a reason.`,
  replyReject: 'Reply to this message with 3 to reject it.',
}

/** Shows replies in one chat of a linked device. Throws `SinkError` of type `invalid` for an unusable policy. */
export function baileysSink(options: BaileysSinkOptions): Sink {
  const { socket, jid, replyTo, texts, timeoutMs, clock = systemClock } = options
  return createSink({
    ...options,
    port: createBaileysPort({ socket, jid, replyTo, timeoutMs, clock }),
    render: renderWhatsApp,
    chat: chatOf(jid),
    replyTo: replyTo === undefined ? undefined : { id: replyTo },
    pacer: pacerOf(socket, clock),
    texts: { ...numberedTexts, ...texts },
  })
}

/**
 * Your `onInbound`, and defaults for the channel's sinks. `onError` also receives the messages that WhatsApp refused after
 * they were sent.
 */
export interface BaileysChannelOptions extends ChannelOptions, Pick<BaileysSinkOptions, 'texts'> {
  /**
   * Skips messages that were written while the socket was away and are older than this, in ms. Default 1 h: an answer
   * to an older one would surprise people.
   */
  readonly maxAgeMs?: number | undefined
  /** Takes a message out of wrappers such as that of disappearing messages. Default: that of `import('baileys')`. */
  normalizeMessageContent?(content: object | null | undefined): object | undefined
}

/** A linked device that shows replies and receives messages. Its sinks survive reconnects. */
export interface BaileysChannel {
  /** The current socket. Pass it to a `baileysSink` of your own, so that all share the rate limits. */
  readonly source: BaileysSource
  /**
   * Call with each new socket of `makeWASocket()`, or undefined while disconnected. Stops listening to the previous
   * one.
   */
  setSocket(socket: BaileysSocket | undefined): void
  /**
   * Creates a sink for the chat of an inbound. It replies to that message, and only its author may answer asks. To let
   * others answer, pass `{ chat, replyTo }` and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<BaileysSinkOptions>): Sink
  /** Stops listening. Resolves when all received messages are handled. Stop your sinks and the socket yourself. */
  stop(): Promise<void>
}

/** Creates a channel for a linked device. */
export function baileysChannel(options: BaileysChannelOptions): BaileysChannel {
  const inbound = inboundOptionsOf(options)
  const { onError, clock } = inbound
  let current: BaileysSocket | undefined
  const source = (): BaileysSocket | undefined => current
  const receiver = createBaileysReceiver(source, inbound, options)
  const onUpsert = (payload: BaileysEvents['messages.upsert']): void => receiver.receiveMessages(payload, ownIds())
  return { source, setSocket, sinkFor, stop }

  /** Receives from another socket, or from none. Stops listening to the previous one. */
  function setSocket(socket: BaileysSocket | undefined): void {
    stopListening()
    current = socket
    socket?.ev.on('messages.upsert', onUpsert)
    socket?.ev.on('messages.update', receiver.reportRefused)
  }

  /**
   * Creates a sink that replies to the inbound's message and lets only its author answer. Options in `more` take precedence.
   */
  function sinkFor(at: Inbound | SinkPlace, more: Partial<BaileysSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    return baileysSink({
      ...options,
      answerers,
      onError,
      clock,
      socket: source,
      jid: chat.id,
      replyTo: replyTo?.id,
      ...more,
    })
  }

  /** Stops listening, and waits until all messages are handled. */
  async function stop(): Promise<void> {
    stopListening()
    sharedAccountState(source).stopListening()
    await receiver.settled()
  }

  /** Removes the listeners from the current socket. Does nothing without one. */
  function stopListening(): void {
    current?.ev.off('messages.upsert', onUpsert)
    current?.ev.off('messages.update', receiver.reportRefused)
  }

  /** Returns the account's ids, without the device part, which ids in messages lack too. Empty without a socket. */
  function ownIds(): readonly string[] {
    const { id, lid } = current?.user ?? { id: '' }
    return [id, lid ?? ''].filter((jid) => jid !== '').map((jid) => jid.replace(/:\d+@/, '@'))
  }
}

/** Handlers for a socket's events. They never throw. */
interface BaileysReceiver {
  /** Passes each message on once and in order. Chats don't wait for each other. */
  receiveMessages(payload: BaileysEvents['messages.upsert'], ownIds: readonly string[]): void
  /** Reports the account's messages that WhatsApp refused after they were sent. */
  reportRefused(payload: BaileysEvents['messages.update']): void
  /** Resolves when all received messages are handled, at most `handleMs` each. */
  settled(): Promise<void>
}

/** Returns the content as it is, in place of Baileys' function that unwraps it. */
const keepContent: Unwrap = (content) => content ?? undefined

/** Unused in practice: linked devices have no buttons. */
const pressMs = 86_400_000

/** Passes each message to the host once, with a function that answers it. */
function createBaileysReceiver(
  source: BaileysSource,
  inboundOptions: InboundOptions,
  {
    maxAgeMs = 3_600_000,
    normalizeMessageContent,
  }: Pick<BaileysChannelOptions, 'maxAgeMs' | 'normalizeMessageContent'>,
): BaileysReceiver {
  const { onError, clock } = inboundOptions
  const loadUnwrap = createUnwrapLoader(normalizeMessageContent, onError)
  const receiver = createInboundReceiver({
    ...inboundOptions,
    client: source,
    account: 'baileys',
    toPortError: toBaileysPortError,
    Failure: WhatsAppError,
    pressMs,
    limitsOf: () => baileysLimits,
  })
  const albums = createAlbums()
  const state = sharedAccountState(source)
  let lastHandedOver = Promise.resolve()
  return { receiveMessages, reportRefused, settled }

  /** Resolves when all messages are handled. */
  async function settled(): Promise<void> {
    await lastHandedOver
    await receiver.settled()
  }

  /**
   * Hands messages over in order, in the background. Messages from while the socket was away arrive as `append`, like the
   * account's own.
   */
  function receiveMessages({ messages, type }: BaileysEvents['messages.upsert'], ownIds: readonly string[]): void {
    const isLate = type === 'append'
    for (const message of messages)
      lastHandedOver = lastHandedOver.then(async () => await handOver(message, ownIds, isLate).catch(reportSkipped))
  }

  /**
   * Reports a message that can't be read: your `normalizeMessageContent` may throw. The messages after this one are still
   * handled.
   */
  function reportSkipped(cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause)
    onError(new WhatsAppError('malformed', `Skipped a message that can't be read: ${reason}`, { cause }))
  }

  /**
   * Passes a message to the handler. Resolves when the handler has it, before it is done. Instead reports an unreadable
   * message, and one from while the socket was away that is older than `maxAgeMs`.
   */
  async function handOver(message: unknown, ownIds: readonly string[], isLate: boolean): Promise<void> {
    const unwrap = isWrapped(message) ? await loadUnwrap() : keepContent
    const read = toReceived(message, ownIds, unwrap)
    if (!read) return onError(new WhatsAppError('malformed', "Skipped a message that can't be read."))
    const { id, announced } = read
    if (announced) albums.announce(announced)
    const received = read.received && albums.withGap(read.received)
    const isStale = wallTime(clock) - (received?.messageRef.postedAt ?? 0) > maxAgeMs
    if (received && isLate && isStale) {
      const what = `Skipped a message in chat ${received.jid}, written while the socket was away`
      return onError(new WhatsAppError('stale', `${what}: it is older than ${maxAgeMs} ms.`))
    }
    await new Promise<void>((resolve, reject) => {
      // Two accounts may get the same message of a group.
      const handled = receiver.receive(`${ownIds[0] ?? ''}/${id}`, async () => {
        const inbound = received && (await inboundOf(received))
        resolve()
        return inbound
      })
      // A repeat makes no inbound.
      void Promise.resolve(handled).then(() => resolve(), reject)
    })
  }

  /** Reports messages that WhatsApp refused after they were sent. Ignores other updates. */
  function reportRefused(updates: BaileysEvents['messages.update']): void {
    for (const update of updates) {
      const refused = toRefusedMessage(update)
      if (!refused) continue
      const { jid, id, reason } = refused
      const message = `Message ${id} in chat ${jid} was refused after it was sent: ${reason || 'no reason given'}`
      onError(new WhatsAppError('delivery', message, { messageRef: { id } }))
    }
  }

  /** Returns the inbound with its `answer`. Also remembers the message, so that a reply can quote it. */
  async function inboundOf(received: BaileysReceived): Promise<Inbound> {
    const { quoted, ...inbound } = await withChatAndActor(received, state.identities)
    state.rememberMessage(inbound.messageRef.id, quoted, clock.now())
    const { chat } = inbound
    const send = async (text: string): Promise<unknown> => {
      const content = { text: clip(escapeWhatsApp(text), textLength), linkPreview: null }
      return await state.requireSocket().sendMessage(chat.id, content, { quoted: quotableIn(chat.id, quoted) })
    }
    return { ...inbound, answer: receiver.answerFor(inbound, { send, isMessage: true }) }
  }
}

/** The albums that are arriving. */
interface Albums {
  /** Notes how many files an album has. */
  announce(album: AnnouncedAlbum): void
  /** Returns a message with the time to wait for the next one of its album, unless it is the last. The same message without an album. */
  withGap(received: BaileysReceived): BaileysReceived
}

/** How many albums are remembered. Those that arrive at the same time are few. */
const mostAlbums = 200

/** Remembers which messages of albums arrived, and of how many. The same message may arrive twice. */
function createAlbums(): Albums {
  const albums = createRecent<{ files: number | undefined; readonly arrived: Set<string> }>(mostAlbums)
  const find = (author: string | undefined, albumID: string) => {
    const key = `${author ?? ''}/${albumID}`
    const album = albums.get(key) ?? { files: undefined, arrived: new Set<string>() }
    albums.set(key, album)
    return album
  }
  return {
    announce: ({ author, albumID, files }) => {
      find(author, albumID).files = files
    },
    withGap: (received) => {
      if (received.albumID === undefined) return received
      const { files, arrived } = find(received.author.jid, received.albumID)
      arrived.add(received.messageRef.id)
      if (files === undefined) return { ...received, albumGapMs }
      return arrived.size < files ? { ...received, albumGapMs: announcedGapMs } : received
    },
  }
}

/**
 * Returns a function that resolves with the channel's function, or else Baileys', imported on first use: hosts of the Cloud
 * API don't have the package. Never rejects: without the package, messages in wrappers are reported once and skipped.
 */
function createUnwrapLoader(ownUnwrap: Unwrap | undefined, onError: InboundOptions['onError']): () => Promise<Unwrap> {
  let imported: Promise<Unwrap> | undefined
  return async () => {
    if (ownUnwrap) return ownUnwrap
    imported ??= importUnwrap()
    return await imported
  }

  /** Imports Baileys' function. If that fails, reports `malformed` and resolves with a function that keeps the content. */
  async function importUnwrap(): Promise<Unwrap> {
    try {
      const { normalizeMessageContent } = await import('baileys')
      return normalizeMessageContent
    } catch (cause) {
      const what = "Baileys can't be imported, so messages in wrappers, such as disappearing ones, are skipped."
      onError(new WhatsAppError('malformed', `${what} Pass normalizeMessageContent to the channel.`, { cause }))
      return keepContent
    }
  }
}
