import type { Clock } from '@reply/core'
import type { ChatPace } from './pace.ts'
import type { ChannelPort, Chat } from './port.ts'

export interface Typing {
  /** Whether somebody is to be seen at work, and at what. Called as often as one likes. */
  set(on: boolean, doing?: string): void
}

export interface TypingOptions {
  readonly port: ChannelPort
  readonly chat: Chat
  readonly clock: Clock
  readonly pace: ChatPace
  readonly signal: AbortSignal
}

/** What it is at is told no more often. */
const tellMs = 5000

/** It is renewed so long before it would go out. */
const aheadMs = 1000

/** Shows that it is being worked on, for as long as that is so. A notice that fails is missed by nobody. */
export function createTyping({ port, chat, clock, pace, signal }: TypingOptions): Typing {
  const { typingMs, typingTells } = port.limits
  let isOn = false
  let doing: string | undefined
  let told = { doing, at: Number.NEGATIVE_INFINITY }
  let stopTimer = (): void => {}
  return { set }

  function set(on: boolean, now?: string): void {
    doing = now
    if (on && isOn && typingTells && doing !== told.doing) return tell()
    if (on === isOn || !port.typing || typingMs === undefined) return
    isOn = on
    stopTimer()
    if (on) renew()
    else send(false)
  }

  /** As soon as it may be. */
  function tell(): void {
    const at = told.doing === undefined ? clock.now() : told.at + tellMs
    stopTimer()
    stopTimer = clock.after(Math.max(0, at - clock.now()), renew)
  }

  function renew(): void {
    stopTimer()
    // Whoever wants to hear nothing for a while hears nothing of this either.
    if (pace.readyAt('ask') <= clock.now()) send(true)
    stopTimer = clock.after(Math.max(aheadMs, (typingMs ?? 0) - aheadMs), renew)
  }

  function send(on: boolean): void {
    told = { doing, at: clock.now() }
    port.typing?.(on, { chat, signal, ...(on && doing !== undefined && { doing }) }).catch(() => {
      // It tells nothing that the next message doesn't.
    })
  }
}
