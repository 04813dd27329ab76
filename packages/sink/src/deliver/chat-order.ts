import { pendingAsks, type Reply } from '@reply/core'
import { permissionCardKey } from '../asks/permission.ts'
import type { Slot } from '../layout/slot.ts'
import { requestIDOf } from '../ledger/keys.ts'
import { type Ledger, shownOf } from '../ledger/ledger.ts'
import type { Limits } from '../port/limits.ts'
import type { Chat } from '../port/port.ts'
import type { UrgentCall } from './chat-calls.ts'
import type { Operation, Priority } from './operation.ts'
import type { ChatPace } from './pace.ts'
import { waitingAsk } from './reconcile.ts'

/** How long an ask may wait for its first message, in ms, whatever else waits. */
const askWithinMs = { private: 4000, shared: 7000 } as const

/** Time reserved for the call itself, in ms. */
const callMs = 500

/**
 * Orders the calls of a chat's replies: its oldest ask precedes all other calls, and final texts precede growing ones.
 * Without buttons a chat shows only one permission at a time, because a "1" could otherwise answer the wrong one.
 */
export interface ChatOrder {
  /**
   * Registers which permission of this reply waits, for the chat's other replies. Withdraws it if none waits. Permissions
   * that can't be shown don't count. Does nothing on platforms with buttons.
   */
  setExclusiveAsk(reply: Reply, ledger: Ledger): void
  /** Whether another reply's permission has to be answered first. Never on platforms with buttons. */
  isBlockedByAsk(): boolean
  /** Notes which ask of this reply waits to be shown, for the methods below. */
  setWaitingAsk(ledger: Ledger, slots: readonly Slot[]): void
  /**
   * Registers this reply's waiting ask, or else its waiting final text, for the chat's other replies. Withdraws both
   * while this reply is held back after a failed call.
   */
  setUrgent(due: readonly Operation[], isHeldBack: boolean): void
  /** Whether the waiting ask has time for this many posts before it. True if no ask waits. */
  hasTimeFor(posts: number): boolean
  /** Whether another reply's ask or final text precedes a call of this priority. */
  isBehind(priority: Priority): boolean
  /** Withdraws everything that was registered. */
  release(): void
}

/**
 * Creates one reply's part in the order of its chat's calls, in which a waiting ask comes before texts of all replies. The
 * replies share `pace`.
 */
export function createChatOrder(pace: ChatPace, chat: Chat, limits: Pick<Limits, 'perChat' | 'buttons'>): ChatOrder {
  const owner = {}
  const { perChat } = limits
  /** People answer permissions with buttons. */
  const hasButtons = limits.buttons !== undefined
  const askDeadlineMs = Math.max(askWithinMs[chat.kind ?? 'shared'], perChat.perMs / perChat.calls + 1000) - callMs
  let askSince: number | undefined
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
    setWaitingAsk: (ledger, slots) => {
      const ask = waitingAsk(ledger, slots)
      askSince = ask && (ledger.asks[requestIDOf(ask.card.key) ?? '']?.seenAt ?? 0)
    },
    setUrgent: (due, isHeldBack) => {
      const ask: UrgentCall | undefined =
        askSince === undefined ? undefined : { priority: 'ask', waitingSince: askSince }
      const hasFinal = due.some(({ priority }) => priority === 'final')
      const final: UrgentCall | undefined = hasFinal ? { priority: 'final', waitingSince: 0 } : undefined
      pace.setUrgent(owner, isHeldBack ? undefined : (ask ?? final))
    },
    hasTimeFor: (posts) => askSince === undefined || pace.readyAt('ask', 'post', posts + 1) <= askSince + askDeadlineMs,
    isBehind: (priority) => pace.isBehind(owner, priority),
    release: () => {
      pace.setExclusiveAsk(owner, undefined)
      pace.setUrgent(owner, undefined)
    },
  }
}
