import type { Clock } from '@reply/core'
import type { ChannelPort, Chat } from '../port/port.ts'
import { type ChatPace, heeding } from './pace.ts'

export interface Typing {
  /** Shows or hides the typing notice, with the activity if given. Cheap to call repeatedly. */
  set(on: boolean, doing?: string): void
}

export interface TypingOptions {
  readonly port: ChannelPort
  readonly chat: Chat
  readonly clock: Clock
  readonly pace: ChatPace
  readonly signal: AbortSignal
}

/** Minimum time between two changes of the activity, in ms. */
const minChangeMs = 5000

/** A notice is renewed this long before it expires, in ms. */
const aheadMs = 1000

/**
 * Keeps the typing notice on while the agent works. A message of the bot ends it on every platform, so it is renewed right
 * after each. Failed calls are ignored.
 */
export function createTyping({ port, chat, clock, pace, signal }: TypingOptions): Typing {
  const { typingMs, typingHasStatus } = port.limits
  let isOn = false
  let doing: string | undefined
  let sent = { doing, at: Number.NEGATIVE_INFINITY }
  let stopTimer = (): void => {}
  let stopHearing = (): void => {}
  return { set }

  function set(on: boolean, now?: string): void {
    doing = now
    if (on && isOn && typingHasStatus && doing !== sent.doing) return sendSoon()
    if (on === isOn || !port.typing || typingMs === undefined) return
    isOn = on
    stopTimer()
    stopHearing()
    if (on) renew()
    else send(false)
    if (on) stopHearing = pace.onPosted(restore)
  }

  /** The notice of a chat is the same for all its replies, so one of them renews it. */
  function restore(): boolean {
    renew()
    return true
  }

  /** Sends the new activity as soon as `minChangeMs` allows. */
  function sendSoon(): void {
    const at = sent.doing === undefined ? clock.now() : sent.at + minChangeMs
    stopTimer()
    stopTimer = clock.after(Math.max(0, at - clock.now()), renew)
  }

  function renew(): void {
    stopTimer()
    // Platforms count typing apart from messages, so it only waits while the platform has asked for a pause.
    const pauseMs = pace.pausedUntil() - clock.now()
    if (pauseMs <= 0) send(true)
    stopTimer = clock.after(pauseMs > 0 ? pauseMs : Math.max(aheadMs, (typingMs ?? 0) - aheadMs), renew)
  }

  function send(on: boolean): void {
    sent = { doing, at: clock.now() }
    const options = { chat, signal, ...(on && doing !== undefined && { doing }) }
    heeding(pace, async () => await port.typing?.(on, options)).catch(() => {
      // The next message shows the progress anyway.
    })
  }
}
