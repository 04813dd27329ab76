import type { Clock } from '@reply/core'
import type { ChatPace } from './pace.ts'
import type { ChannelPort, Chat } from './port.ts'

export interface Typing {
  /** Whether somebody is to be seen writing. Called as often as one likes. */
  set(on: boolean): void
}

export interface TypingOptions {
  readonly port: ChannelPort
  readonly chat: Chat
  readonly clock: Clock
  readonly pace: ChatPace
  readonly signal: AbortSignal
}

/** It is renewed so long before it would go out. */
const aheadMs = 1000

/** Shows that it is being worked on, for as long as that is so. A notice that fails is missed by nobody. */
export function createTyping({ port, chat, clock, pace, signal }: TypingOptions): Typing {
  const { typingMs } = port.limits
  let isOn = false
  let stopTimer = (): void => {}
  return { set }

  function set(on: boolean): void {
    if (on === isOn || !port.typing || typingMs === undefined) return
    isOn = on
    stopTimer()
    if (on) renew()
    else send(false)
  }

  function renew(): void {
    // Whoever wants to hear nothing for a while hears nothing of this either.
    if (pace.readyAt('ask') <= clock.now()) send(true)
    stopTimer = clock.after(Math.max(aheadMs, (typingMs ?? 0) - aheadMs), renew)
  }

  function send(on: boolean): void {
    port.typing?.(on, { chat, signal }).catch(() => {
      // It tells nothing that the next message doesn't.
    })
  }
}
