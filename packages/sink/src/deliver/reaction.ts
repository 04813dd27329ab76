import type { Clock } from '@reply/core'
import type { ChannelPort, Chat, MessageRef } from '../port/port.ts'
import type { ChatPace } from './pace.ts'
import { waitForTurn } from './wait-for-turn.ts'

export interface ReactionOptions {
  readonly port: ChannelPort
  readonly chat: Chat
  /** The message that asked. */
  readonly replyTo?: MessageRef | undefined
  readonly pace: ChatPace
  readonly clock: Clock
  /** Aborts the call. */
  readonly signal: AbortSignal
  /** Nothing is set any more. */
  readonly stopped: AbortSignal
}

/**
 * Sets reactions on the message that asked, each in its turn. Failures are ignored, and only the newest reaction
 * counts.
 */
export function createReaction(options: ReactionOptions, isWanted: boolean) {
  const { port, chat, replyTo, pace, clock, signal, stopped } = options
  let wanted: 'seen' | 'done' | undefined
  let shown: typeof wanted
  let isSetting = false
  return { set }

  function set(sign: 'seen' | 'done' | undefined): void {
    wanted = sign
    if (!isSetting && isWanted) void follow()
  }

  async function follow(): Promise<void> {
    isSetting = true
    while (wanted !== shown && !stopped.aborted) {
      shown = wanted
      await waitForTurn(pace, clock, react, { signal: stopped, kind: 'react' }).catch(() => {
        // The reply shows the same anyway.
      })
    }
    isSetting = false
  }

  async function react(): Promise<void> {
    shown = wanted
    if (replyTo) await port.react?.(replyTo, wanted, { chat, signal })
  }
}
