import { type Inbound, placeOf, type Sink, type SinkPlace, systemClock, telling } from '@reply/sink'
import type { BaileysEvents, BaileysSocket } from './api.ts'
import { createBaileysHearing } from './hear.ts'
import { lineOf } from './line.ts'
import { type BaileysSinkOptions, baileysSink } from './sink.ts'

/** The sink's options, and who hears. */
export interface BaileysChannelOptions extends Omit<BaileysSinkOptions, 'socket' | 'jid' | 'replyTo' | 'onError'> {
  /**
   * What people do, in order, each once. What it does with it may take as long as it likes, and wait for what they do next:
   * after `handleMs` the next one is given to it beside it. When it throws, `onError` is told.
   */
  readonly onInbound: (inbound: Inbound) => unknown
  /** What went wrong and was dealt with, the sinks' troubles too, and what WhatsApp refused afterwards. Default: nobody is told. */
  readonly onError?: ((error: Error) => void) | undefined
  /** Default 5,000 ms. */
  readonly handleMs?: number | undefined
}

/** Both ways at once, over whatever socket there is: sinks go on over the next one. */
export interface BaileysChannel {
  /** What `makeWASocket()` gave, each time that the host connects; undefined: there is none now. The one before is not heard any more. */
  setSocket(socket: BaileysSocket | undefined): void
  /**
   * A sink for the chat of an inbound. It replies to that message, and only its actor may answer what is asked. For other
   * answerers give `{ chat, replyTo }` instead, and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<BaileysSinkOptions>): Sink
  /** Hears nothing more, and resolves when what came is handled. The socket and the sinks are ended by who has them. */
  stop(): Promise<void>
}

/** WhatsApp by a linked device. */
export function baileysChannel(options: BaileysChannelOptions): BaileysChannel {
  const { onInbound, clock = systemClock, handleMs = 5000 } = options
  const onError = telling(options.onError)
  let current: BaileysSocket | undefined
  const source = (): BaileysSocket | undefined => current
  const ears = createBaileysHearing({ source, onInbound, onError, clock, handleMs })
  const upsert = (told: BaileysEvents['messages.upsert']): void => ears.upsert(told, ownIds())
  return { setSocket, sinkFor, stop }

  function setSocket(socket: BaileysSocket | undefined): void {
    leave()
    current = socket
    socket?.ev.on('messages.upsert', upsert)
    socket?.ev.on('messages.update', ears.update)
  }

  function sinkFor(at: Inbound | SinkPlace, more: Partial<BaileysSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    const { policy, words, mayAnswer, store } = options
    return baileysSink({
      policy,
      words,
      mayAnswer,
      answerers,
      store,
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
    lineOf(source).close()
    await ears.rest()
  }

  function leave(): void {
    current?.ev.off('messages.upsert', upsert)
    current?.ev.off('messages.update', ears.update)
  }

  /** Named with the device that it is linked as; messages name it without. */
  function ownIds(): readonly string[] {
    const { id, lid } = current?.user ?? { id: '' }
    return [id, lid ?? ''].filter((one) => one !== '').map((one) => one.replace(/:\d+@/, '@'))
  }
}
