import type { Clock } from '@reply/core'
import type { Limits } from '../port/limits.ts'
import { type ChatPace, callHeedingLimits } from './pace.ts'

export interface Typing {
  /** Shows or hides the typing notice, with the activity if given. Cheap to call repeatedly. */
  set(on: boolean, activity?: string): void
}

/** Minimum time between two changes of the activity, in ms. */
const minChangeMs = 5000

/** How long before its expiry a notice is renewed, in ms. */
const aheadMs = 1000

/**
 * Creates a typing notice that stays visible while the agent works. On every platform a message of the bot ends the
 * notice, so it is renewed right after each one. Failed calls are ignored. Without `show` it does nothing.
 */
export function createTyping(
  show: ((on: boolean, doing: string | undefined) => Promise<void>) | undefined,
  { typingMs, typingHasStatus }: Limits,
  pace: ChatPace,
  clock: Clock,
): Typing {
  let isOn = false
  let doing: string | undefined
  let sent = { doing, at: Number.NEGATIVE_INFINITY }
  let stopTimer = (): void => {}
  let stopListening = (): void => {}
  return { set: setTyping }

  /**
   * Shows or hides the notice, or sends a new activity as soon as `minChangeMs` allows, if the notice has a text. Does nothing
   * if nothing changed, and if the platform has no notice.
   */
  function setTyping(on: boolean, activity?: string): void {
    doing = activity
    if (on && isOn && typingHasStatus && doing !== sent.doing) return sendSoon()
    if (on === isOn || !show || typingMs === undefined) return
    isOn = on
    stopTimer()
    stopListening()
    if (on) sendAndRenewLater()
    else sendTyping(false)
    if (on) stopListening = pace.onPosted(renewAfterPost)
  }

  /** Sends the notice again. Always returns true: the replies of a chat share its notice, so only one of them renews it. */
  function renewAfterPost(): boolean {
    sendAndRenewLater()
    return true
  }

  /** Sends the new activity as soon as `minChangeMs` allows. */
  function sendSoon(): void {
    const at = sent.doing === undefined ? clock.now() : sent.at + minChangeMs
    stopTimer()
    stopTimer = clock.after(Math.max(0, at - clock.now()), sendAndRenewLater)
  }

  /** Sends the notice unless the platform has requested a pause or the client's budget is used, and sets the next timer. */
  function sendAndRenewLater(): void {
    stopTimer()
    const waitMs = pace.typingReadyAt() - clock.now()
    if (waitMs <= 0) sendTyping(true)
    stopTimer = clock.after(waitMs > 0 ? waitMs : Math.max(aheadMs, (typingMs ?? 0) - aheadMs), sendAndRenewLater)
  }

  /** Sends the notice with the current activity, or takes it back. Ignores failures. */
  function sendTyping(on: boolean): void {
    sent = { doing, at: clock.now() }
    const text = on ? doing : undefined
    const endCall = on ? pace.startTyping() : () => {}
    callHeedingLimits(pace, async () => await show?.(on, text))
      .catch(() => {
        // The next message shows the progress anyway.
      })
      .finally(endCall)
  }
}
