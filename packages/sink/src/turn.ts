import type { Slot } from './layout.ts'
import type { Ledger } from './ledger.ts'
import type { Budget } from './limits.ts'
import type { ChatPace } from './pace.ts'
import { requestOf } from './permission.ts'
import type { Chat } from './port.ts'
import { waitingAsk } from './reconcile.ts'

/** How long an ask may wait for its first message, in ms, whatever else is to be shown. */
const askWithinMs = { private: 4000, shared: 7000 } as const

/** Kept free for the call itself, in ms. */
const callMs = 500

export interface TurnOptions {
  readonly pace: ChatPace
  readonly chat: Chat
  readonly perChat: Budget
}

/** Whose turn it is: the chat's oldest ask goes before all other calls of all its replies. */
export interface Turn {
  /** Tells the other replies of the chat what waits here. */
  look(ledger: Ledger, slots: readonly Slot[], isHeldBack: boolean): void
  /** Whether the ask that waits has time for this many posts before it. */
  hasTimeFor(posts: number): boolean
  /** Another reply's ask goes first. */
  isBehind(): boolean
  leave(): void
}

export function createTurn({ pace, chat, perChat }: TurnOptions): Turn {
  const owner = {}
  const withinMs = Math.max(askWithinMs[chat.kind ?? 'shared'], perChat.perMs / perChat.calls + 1000) - callMs
  let since: number | undefined
  return {
    look: (ledger, slots, isHeldBack) => {
      const ask = waitingAsk(ledger, slots)
      since = ask && (ledger.asks[requestOf(ask.card.key) ?? '']?.seenAt ?? 0)
      pace.claim(owner, isHeldBack ? undefined : since)
    },
    hasTimeFor: (posts) => since === undefined || pace.readyAt('ask', posts + 1) <= since + withinMs,
    isBehind: () => pace.isBehind(owner),
    leave: () => pace.claim(owner, undefined),
  }
}
