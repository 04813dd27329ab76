import type { TestClock } from '../clock.ts'
import { type Fields, fieldsOf } from '../fields.ts'
import { createTimers } from '../platform/timers.ts'
import { limits } from './limits.ts'
import { type DiscordModal, modalOf } from './modal.ts'
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
  /** Resolves once there are this many texts. */
  received(count: number): Promise<DiscordInteraction>
}

/** An interaction that Discord finds by its token. */
export interface Known {
  readonly token: string
  readonly interaction: DiscordInteraction
  /** The first answer. Throws a `Refusal`. */
  answer(body: Fields): void
  /** Takes a further answer and returns its text. Throws a `Refusal`. */
  followUp(body: Fields): void
  fail(reason: string): void
}

export interface Interactions {
  open(id: string, token: string): Known
  byToken(token: string): Known | undefined
  close(): void
}

/** Each takes its first answer only while it is recent, and further ones for 15 minutes. */
export function createInteractions(clock: TestClock): Interactions {
  const known = new Map<string, Known>()
  const timers = createTimers(clock)
  return {
    open,
    byToken: (token) => known.get(token),
    close: timers.close,
  }

  function open(id: string, token: string): Known {
    const openedAt = clock.now()
    let status: DiscordInteraction['status'] = 'waiting'
    const texts: string[] = []
    let modal: DiscordModal | undefined
    let reason: string | undefined
    const listeners: (() => void)[] = []
    const settled = when(() => status !== 'waiting')
    const stop = timers.after(limits.firstMs, () => {
      if (status === 'waiting') become('failed')
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
      received: (count) => when(() => texts.length >= count),
    }
    const one: Known = { token, interaction, answer, followUp, fail }
    known.set(token, one)
    return one

    function answer(body: Fields): void {
      if (status === 'failed' || clock.now() - openedAt > limits.firstMs) throw refusals.unknownInteraction()
      if (status !== 'waiting') throw refusals.acknowledged()
      const given = fieldsOf(body.data)
      if (body.type === 9) modal = modalOf(given)
      else if (body.type === 4) post(given)
      else if (body.type !== 5 && body.type !== 6) throw refusals.notFound()
      become(body.type === 5 || body.type === 6 ? 'deferred' : 'answered')
    }

    function followUp(body: Fields): void {
      if (status === 'waiting' || status === 'failed' || clock.now() - openedAt > limits.tokenMs)
        throw refusals.unknownWebhook()
      post(body)
      become('answered')
    }

    function fail(why: string): void {
      reason = why
      become('failed')
    }

    function post(body: Fields): void {
      const { content } = body
      if (typeof content !== 'string' || content === '') throw refusals.empty()
      texts.push(content)
    }

    function become(next: DiscordInteraction['status']): void {
      status = next
      stop()
      for (const listener of listeners.splice(0)) listener()
    }

    function when(isSo: () => boolean): Promise<DiscordInteraction> {
      return new Promise((resolve) => {
        const look = (): void => {
          if (isSo()) resolve(interaction)
          else listeners.push(look)
        }
        look()
      })
    }
  }
}
