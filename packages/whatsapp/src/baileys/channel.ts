import type { Inbound, Sink, SinkPlace } from '@reply/sink'
import { type ChannelOptions, inboundOptionsOf, placeOf } from '@reply/sink/channel'
import type { BaileysEvents, BaileysSocket, BaileysSource } from './api.ts'
import { createBaileysReceiver } from './receive.ts'
import { type BaileysSinkOptions, baileysSink } from './sink.ts'
import { connectionOf } from './socket.ts'

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

/** A linked device that shows replies and receives what people write. Its sinks survive reconnects. */
export interface BaileysChannel {
  /** The current socket. Pass it to a `baileysSink` of your own, so that all share the rate limits. */
  readonly source: BaileysSource
  /**
   * Call with each new socket of `makeWASocket()`, or undefined while disconnected. Stops listening to the previous
   * one.
   */
  setSocket(socket: BaileysSocket | undefined): void
  /**
   * Makes a sink for the chat of an inbound. It replies to that message, and only its author may answer asks. To let
   * others answer, pass `{ chat, replyTo }` and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<BaileysSinkOptions>): Sink
  /** Stops listening. Resolves when all received messages are handled. Stop your sinks and the socket yourself. */
  stop(): Promise<void>
}

/** Makes a channel for a linked device. */
export function baileysChannel(options: BaileysChannelOptions): BaileysChannel {
  const { maxAgeMs = 3_600_000, normalizeMessageContent } = options
  const inbound = inboundOptionsOf(options)
  const { onError, clock } = inbound
  let current: BaileysSocket | undefined
  const source = (): BaileysSocket | undefined => current
  const receiver = createBaileysReceiver({ source, maxAgeMs, normalizeMessageContent, ...inbound })
  const upsert = (payload: BaileysEvents['messages.upsert']): void => receiver.upsert(payload, ownIds())
  return { source, setSocket, sinkFor, stop }

  function setSocket(socket: BaileysSocket | undefined): void {
    leave()
    current = socket
    socket?.ev.on('messages.upsert', upsert)
    socket?.ev.on('messages.update', receiver.update)
  }

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

  async function stop(): Promise<void> {
    leave()
    connectionOf(source).close()
    await receiver.rest()
  }

  function leave(): void {
    current?.ev.off('messages.upsert', upsert)
    current?.ev.off('messages.update', receiver.update)
  }

  /** The account's ids, without the device part that messages lack too. */
  function ownIds(): readonly string[] {
    const { id, lid } = current?.user ?? { id: '' }
    return [id, lid ?? ''].filter((one) => one !== '').map((one) => one.replace(/:\d+@/, '@'))
  }
}
