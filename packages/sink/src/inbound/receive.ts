import type { Clock } from '@reply/core'
import type { Answering, Inbound } from './inbound.ts'

/** Who handles what people do, and how long that may take. */
export interface InboundReceiverOptions {
  /** The host's handler. A promise that it returns is awaited. */
  readonly onInbound: (inbound: Inbound) => unknown
  /** The host's handler failed. The inbound is not delivered again. */
  readonly onFailure: (inbound: Inbound, cause: unknown) => void
  /** Times the two limits below. */
  readonly clock: Clock
  /** How long the host may take before the next inbound is delivered, in ms. Its handler keeps running. */
  readonly handleMs: number
  /** How long a press can be answered, in ms. After that it is answered without text. */
  readonly pressMs: number
  /** How many ids are remembered, to drop what the platform delivers twice. Default 1,000. */
  readonly remembered?: number | undefined
}

/**
 * Delivers an inbound to the host, once per id. Resolves when the handler is done or has taken `handleMs`. Never
 * rejects.
 */
export type ReceiveInbound = (id: string, inbound: Inbound | undefined) => Promise<void>

/** Makes a receiver, which remembers the ids of the last inbounds. */
export function createInboundReceiver(options: InboundReceiverOptions): ReceiveInbound {
  const { onInbound, onFailure, clock, handleMs, pressMs, remembered = 1000 } = options
  const seen = new Set<string>()
  return async (id, inbound) => {
    if (seen.has(id)) return
    seen.add(id)
    for (const oldest of [...seen].slice(0, -remembered)) seen.delete(oldest)
    if (inbound) await atMost(handle(inbound))
  }

  async function handle(inbound: Inbound): Promise<void> {
    const answer = inbound.type === 'press' ? inbound.answer : async () => {}
    const stop = clock.after(pressMs, () => void answer())
    try {
      await onInbound(inbound)
    } catch (cause) {
      onFailure(inbound, cause)
    } finally {
      stop()
      await answer()
    }
  }

  /** A slow handler continues alongside the next inbounds, as it may wait for one of them. */
  async function atMost(handled: Promise<void>): Promise<void> {
    let stop = (): void => {}
    const passed = new Promise<void>((resolve) => {
      stop = clock.after(handleMs, resolve)
    })
    await Promise.race([handled, passed])
    stop()
  }
}

/** Only the first call counts, and its failure is reported. */
export function answerOnce(
  answer: (text: string | undefined) => Promise<unknown>,
  onError: (error: unknown) => void,
): Answering {
  let isAnswered = false
  return async (text) => {
    if (isAnswered) return
    isAnswered = true
    try {
      await answer(text)
    } catch (error) {
      onError(error)
    }
  }
}
