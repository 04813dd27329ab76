import { pendingAsks, type Reply } from '@reply/core'
import { permissionCardKey } from '../asks/permission.ts'
import type { Slot } from '../layout/slot.ts'
import { requestOf } from '../ledger/keys.ts'
import { type Ledger, shownOf } from '../ledger/ledger.ts'
import type { Limits } from '../port/limits.ts'
import type { Chat } from '../port/port.ts'
import type { UrgentCall } from './chat-calls.ts'
import type { Operation, Priority } from './operation.ts'
import type { ChatPace } from './pace.ts'
import { waitingAsk } from './reconcile.ts'

/** How long an ask may wait for its first message, in ms, whatever else is to be shown. */
const askWithinMs = { private: 4000, shared: 7000 } as const

/** Time reserved for the call itself, in ms. */
const callMs = 500

export interface ChatOrderOptions {
  readonly pace: ChatPace
  readonly chat: Chat
  readonly limits: Pick<Limits, 'perChat' | 'buttons'>
}

/**
 * Orders the replies of a chat: its oldest ask goes before all other calls of all its replies, and final texts go before
 * growing ones. Without buttons, a chat shows one permission at a time: a "1" meant for another one would answer it.
 */
export interface ChatOrder {
  /** Announces to the chat's other replies which permission waits here. */
  setExclusiveAsk(reply: Reply, ledger: Ledger): void
  /** Another reply's permission is answered first. */
  isBlockedByAsk(): boolean
  /** Takes note of the ask that waits to be shown here. */
  noteWaitingAsk(ledger: Ledger, slots: readonly Slot[]): void
  /** Announces to the chat's other replies what waits to be shown here: that ask, else the reply's final text. */
  setUrgent(due: readonly Operation[], isHeldBack: boolean): void
  /** Whether the waiting ask has time for this many posts before it. */
  hasTimeFor(posts: number): boolean
  /** Another reply's ask or final text goes before a call of that priority. */
  isBehind(priority: Priority): boolean
  release(): void
}

export function createChatOrder({ pace, chat, limits }: ChatOrderOptions): ChatOrder {
  const owner = {}
  const { perChat } = limits
  /** People answer permissions with buttons. */
  const hasButtons = limits.buttons !== undefined
  const withinMs = Math.max(askWithinMs[chat.kind ?? 'shared'], perChat.perMs / perChat.calls + 1000) - callMs
  let since: number | undefined
  return {
    setExclusiveAsk: (reply, ledger) => {
      if (hasButtons) return
      const { requests, lost } = shownOf(ledger)
      const waiting = pendingAsks(reply).filter(
        (ask) => ask.type === 'permission' && !lost?.has(permissionCardKey(ask)),
      )
      const [first] = waiting
      const isShown = waiting.some(({ requestID }) => requests.has(requestID))
      pace.setExclusiveAsk(owner, first && { since: ledger.asks[first.requestID]?.seenAt ?? 0, isShown })
    },
    isBlockedByAsk: () => !hasButtons && pace.isBlockedByAsk(owner),
    noteWaitingAsk: (ledger, slots) => {
      const ask = waitingAsk(ledger, slots)
      since = ask && (ledger.asks[requestOf(ask.card.key) ?? '']?.seenAt ?? 0)
    },
    setUrgent: (due, isHeldBack) => {
      const ask: UrgentCall | undefined = since === undefined ? undefined : { priority: 'ask', since }
      const hasFinal = due.some(({ priority }) => priority === 'final')
      const final: UrgentCall | undefined = hasFinal ? { priority: 'final', since: 0 } : undefined
      pace.setUrgent(owner, isHeldBack ? undefined : (ask ?? final))
    },
    hasTimeFor: (posts) => since === undefined || pace.readyAt('ask', 'post', posts + 1) <= since + withinMs,
    isBehind: (priority) => pace.isBehind(owner, priority),
    release: () => {
      pace.setExclusiveAsk(owner, undefined)
      pace.setUrgent(owner, undefined)
    },
  }
}
