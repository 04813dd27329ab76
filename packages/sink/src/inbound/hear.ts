import type { Clock } from '@reply/core'
import type { Answering, Inbound } from './inbound.ts'

export interface HearOptions {
  readonly onInbound: (inbound: Inbound) => unknown
  /** The host's own code failed at it; it is not given again. */
  readonly onFailure: (inbound: Inbound, cause: unknown) => void
  readonly clock: Clock
  /** So long the host may take before the next one, in ms; it goes on after that, too. */
  readonly handleMs: number
  /** So long a press can be answered, in ms: it is done without words then. */
  readonly pressMs: number
  /** How many are known again when the platform sends them twice. Default 1,000. */
  readonly remembered?: number | undefined
}

/** Gives the host what a person did, once an id, and resolves when that is done or has taken long enough. Never rejects. */
export type Hear = (id: string, inbound: Inbound | undefined) => Promise<void>

export function createHear(options: HearOptions): Hear {
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

  /** What takes longer goes on beside the next ones: it may wait for one of them. */
  async function atMost(handled: Promise<void>): Promise<void> {
    let stop = (): void => {}
    const passed = new Promise<void>((resolve) => {
      stop = clock.after(handleMs, resolve)
    })
    await Promise.race([handled, passed])
    stop()
  }
}

/** The first call counts, and what goes wrong with it is told. */
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
