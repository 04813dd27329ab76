import type { TestClock } from '../clock.ts'
import { type Fields, fieldsOf } from '../fields.ts'
import { createTimers } from '../platform/timers.ts'
import { limits } from './limits.ts'
import { type DiscordModal, validModal } from './modal.ts'
import { refusals } from './refusal.ts'

/** A person's action that waits for an answer. It changes as the bot answers, or doesn't. */
export interface DiscordInteraction {
  /** The interaction's id, a snowflake. */
  readonly id: string
  /**
   * `waiting`: the person sees a spinner. `deferred`: acknowledged without content yet. `answered`: with a text, a
   * dialog, or nothing. `failed`: no answer within 3 s: "This interaction failed".
   */
  readonly status: 'waiting' | 'deferred' | 'answered' | 'failed'
  /** The texts shown to the person alone, in order. */
  readonly texts: readonly string[]
  /** Why an endpoint's answer was invalid. The person only sees the failure. */
  readonly reason: string | undefined
  /** The dialog that opened. */
  readonly modal: DiscordModal | undefined
  /** Resolves with the first answer, or when the time is up. */
  readonly settled: Promise<DiscordInteraction>
  /** Resolves once there are at least this many texts. Never resolves if they don't come. */
  received(count: number): Promise<DiscordInteraction>
}

/** An interaction that Discord finds by its token. */
export interface OpenInteraction {
  readonly token: string
  readonly interaction: DiscordInteraction
  /**
   * Takes the first answer: shows its text, opens its dialog, or defers. Throws a `Refusal` for a second answer, after
   * 3 s, and for an unknown type, a wrong dialog or an empty text.
   */
  answer(body: Fields): void
  /**
   * Takes a further answer, and shows its text. Throws a `Refusal` before the first answer, after a failure, after
   * 15 min, and for an empty text.
   */
  followUp(body: Fields): void
  /** Fails it, because the bot's endpoint did. The person only sees the failure. The reason is for the test. */
  fail(reason: string): void
}

export interface Interactions {
  /** Begins to wait for the bot's first answer. Fails after 3 s without one. */
  begin(id: string, token: string): OpenInteraction
  /** Undefined if there is none. */
  byToken(token: string): OpenInteraction | undefined
  /** Cancels the time limits, so that interactions that wait never fail. */
  close(): void
}

/** Returns the interactions of a fake, none at first. Holds every interaction by its token, also after its end. */
export function createInteractions(clock: TestClock): Interactions {
  const openInteractions = new Map<string, OpenInteraction>()
  const timers = createTimers(clock)
  return {
    begin,
    byToken: (token) => openInteractions.get(token),
    close: timers.close,
  }

  /**
   * Opens an interaction that changes in place with each answer, and keeps it under its token. It fails after 3 s
   * without a first answer.
   */
  function begin(id: string, token: string): OpenInteraction {
    const openedAt = clock.now()
    let status: DiscordInteraction['status'] = 'waiting'
    const texts: string[] = []
    let modal: DiscordModal | undefined
    let reason: string | undefined
    const listeners: (() => void)[] = []
    const settled = whenTrue(() => status !== 'waiting')
    const stop = timers.after(limits.firstMs, () => {
      if (status === 'waiting') setStatus('failed')
    })
    const interaction: DiscordInteraction = {
      id,
      get status() {
        return status
      },
      texts,
      get reason() {
        return reason
      },
      get modal() {
        return modal
      },
      settled,
      received: (count) => whenTrue(() => texts.length >= count),
    }
    const opened: OpenInteraction = { token, interaction, answer, followUp, fail }
    openInteractions.set(token, opened)
    return opened

    /**
     * Takes the first answer: shows its text, opens its dialog, or defers. Throws a `Refusal` for a second one, after
     * 3 s or a failure, and for a wrong one. The interaction then keeps its status.
     */
    function answer(body: Fields): void {
      if (status === 'failed' || clock.now() - openedAt > limits.firstMs) throw refusals.unknownInteraction()
      if (status !== 'waiting') throw refusals.acknowledged()
      const data = fieldsOf(body.data)
      if (body.type === 9) modal = validModal(data)
      else if (body.type === 4) addText(data)
      else if (body.type !== 5 && body.type !== 6) throw refusals.notFound()
      setStatus(body.type === 5 || body.type === 6 ? 'deferred' : 'answered')
    }

    /**
     * Shows the text of a further answer, after which a deferred interaction is answered. Throws a `Refusal` before
     * the first answer, after a failure or 15 min, and for an empty text.
     */
    function followUp(body: Fields): void {
      if (status === 'waiting' || status === 'failed' || clock.now() - openedAt > limits.tokenMs)
        throw refusals.unknownWebhook()
      addText(body)
      setStatus('answered')
    }

    /** Fails the interaction with this reason, whatever its status. */
    function fail(why: string): void {
      reason = why
      setStatus('failed')
    }

    /** Shows the text of an answer. Throws a `Refusal` if it is empty. */
    function addText(body: Fields): void {
      const { content } = body
      if (typeof content !== 'string' || content === '') throw refusals.empty()
      texts.push(content)
    }

    /** Sets the status, cancels the time limit, and checks the conditions that something waits for. */
    function setStatus(next: DiscordInteraction['status']): void {
      status = next
      stop()
      for (const listener of listeners.splice(0)) listener()
    }

    /** Resolves once the condition is true. It is checked now and at each change of the status. */
    function whenTrue(isSo: () => boolean): Promise<DiscordInteraction> {
      return new Promise((resolve) => {
        const check = (): void => {
          if (isSo()) resolve(interaction)
          else listeners.push(check)
        }
        check()
      })
    }
  }
}
