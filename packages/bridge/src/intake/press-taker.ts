import type { Clock } from '@reply/core'
import { stopwatch } from '@reply/core/internal'
import type { AnswerInbound } from '@reply/sink'
import { isTakenOver, toError } from '../error.ts'
import type { ChatPlace } from '../place.ts'
import type { BridgeServices } from '../runs/services.ts'
import { toForwardedPress } from '../state/decode.ts'
import {
  answerKeptMs,
  dueKey,
  type ForwardedPress,
  type PressAnswer,
  pressAnswerKey,
  pressPrefix,
} from '../state/forwarded-press.ts'
import { readWithExpiry } from '../state/state.ts'
import type { Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import type { InboundPress, Intake } from './intake.ts'

/** Carries out presses that other members received. */
export interface PressTaker {
  /**
   * Claims the stored presses and begins to carry them out. Does not wait until they are carried out. Rejects like
   * `State.list`.
   */
  takeStored(): Promise<void>
  /** Resolves when no press is being carried out. */
  idle(): Promise<void>
}

/**
 * Creates the owner's side of forwarded presses. Each is claimed in one commit under the lease, which conflicts once its time
 * is over, so it is carried out at most once and never late. `handle` carries out a press like one that this process received.
 */
export function createPressTaker({
  state,
  lease,
  clock,
  onError,
  handle,
  whenRestored,
}: Pick<BridgeServices, 'state' | 'lease' | 'onError'> & {
  readonly clock: Clock
  readonly handle: Intake['press']
  /** As in `Runner`. */
  readonly whenRestored: (place: ChatPlace) => Promise<void>
}): PressTaker {
  /** By their keys: presses that are being taken. */
  const taking = new Map<string, Promise<void>>()
  return { takeStored, idle: async () => void (await Promise.all(taking.values())) }

  /** Starts to take each stored press that is not being taken. */
  async function takeStored(): Promise<void> {
    for (const { key, value } of await state.list(pressPrefix)) {
      if (taking.has(key)) continue
      const taken = takeOne(key, value)
        .catch((error: unknown) => void (isTakenOver(error) || onError(toError(error))))
        .then(() => void taking.delete(key))
      taking.set(key, taken)
    }
  }

  /** Claims a press, and carries it out unless its time is over by then. */
  async function takeOne(key: string, value: string): Promise<void> {
    const press = toForwardedPress(value)
    // Until then it is not claimed, so that the person hears in time that it does not count.
    await whenRestored({ channel: press.channel, chat: press.inbound.chat })
    const sinceReadMs = stopwatch(clock)
    const { expiresInMs = 0 } = (await readWithExpiry(state, dueKey(press))) ?? {}
    const isClaimed = await state.commit([
      { type: 'compare-and-set', key: dueKey(press), expected: press.member, value: undefined },
      { type: 'compare-and-set', key, expected: value, value: undefined },
      writeAnswer(press, { type: 'claimed' }),
    ])
    if (!isClaimed) return
    // The commit may have taken long, or the process may have been suspended since.
    const leftMs = (): number => (lease.isHeld() ? expiresInMs - sinceReadMs() : Number.NEGATIVE_INFINITY)
    if (leftMs() < 0) return await answer(press, { type: 'refused' })
    await handle(press.channel, inboundOf(press), press.id, leftMs).catch(async (error: unknown) => {
      if (!isTakenOver(error)) onError(toError(error))
      await answer(press, { type: 'answered', text: texts.notTaken })
    })
    await answer(press, { type: 'answered' })
  }

  /** Returns the press with functions that answer through the store. Only the first answer counts, as for every press. */
  function inboundOf(press: ForwardedPress): InboundPress {
    const { inbound, canOpen } = press
    if (inbound.type === 'stop') return inbound
    const say: AnswerInbound = async (text) => await answer(press, { type: 'answered', text })
    if (inbound.type === 'page') return { ...inbound, answer: say }
    return {
      ...inbound,
      answer: say,
      ...(canOpen && { open: async (form) => await answer(press, { type: 'open', form }) }),
    }
  }

  /** Stores the first answer to a press for the member that received it. Later ones do nothing. Never rejects. */
  async function answer(press: ForwardedPress, given: PressAnswer): Promise<void> {
    const key = pressAnswerKey(press)
    const claimed = JSON.stringify({ type: 'claimed' } satisfies PressAnswer)
    const writes = [{ type: 'compare-and-set', key, expected: claimed, ...storedAnswer(given) }] as const
    try {
      await state.commit(writes, { survives: 'process', hint: `answer/${press.member}` })
    } catch (error) {
      if (!isTakenOver(error)) onError(toError(error))
    }
  }

  /** Returns the write that stores an answer. */
  function writeAnswer(press: ForwardedPress, given: PressAnswer): Write {
    return { type: 'put', key: pressAnswerKey(press), ...storedAnswer(given) }
  }

  /** Returns an answer as it is stored. */
  function storedAnswer(given: PressAnswer): { readonly value: string; readonly expiresInMs: number } {
    return { value: JSON.stringify(given), expiresInMs: answerKeptMs }
  }
}
