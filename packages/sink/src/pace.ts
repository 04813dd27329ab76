import type { Clock } from '@reply/core'
import type { Budget, Limits } from './limits.ts'
import type { Chat } from './port.ts'
import type { Priority } from './reconcile.ts'

/** When what may be done. One for each client of a platform, shared by all that write with it. */
export interface Pacer {
  chat(chat: Chat, limits: Limits): ChatPace
}

/** One chat's share. */
export interface ChatPace {
  /** When a call of that urgency may go out, in ms since the epoch; a time that has passed: now. */
  readyAt(priority: Priority): number
  /** A call goes out. Undefined while another one is on its way. */
  enter(): (() => void) | undefined
  /** Once, when the call on its way is over. */
  onFree(listener: () => void): void
  /** The platform wants to hear nothing for a while. */
  freeze(forMs: number, scope: 'chat' | 'client'): void
}

/** What each kind leaves of a budget for those above it. */
const leaves: Readonly<Record<Priority, number>> = { ask: 0, final: 0, text: 1 / 4, status: 1 / 2 }

interface Calls {
  /** When they went out, the oldest first. */
  times: number[]
  frozenUntil: number
}

export function createPacer({ clock }: { readonly clock: Clock }): Pacer {
  const client: Calls = { times: [], frozenUntil: 0 }
  /** Calls on their way, in all chats: they take room before they are over. */
  let inFlight = 0
  const chats = new Map<string, Calls & { isBusy: boolean; waiting: (() => void)[] }>()
  return { chat }

  function chat(place: Chat, limits: Limits): ChatPace {
    // Threads share their chat's budget.
    const calls = chats.get(place.id) ?? { times: [], frozenUntil: 0, isBusy: false, waiting: [] }
    chats.set(place.id, calls)
    return {
      readyAt: (priority) =>
        Math.max(
          roomAt(calls, limits.perChat, priority),
          limits.perClient ? roomAt(client, limits.perClient, priority, inFlight) : client.frozenUntil,
        ),
      enter: () => {
        if (calls.isBusy) return undefined
        calls.isBusy = true
        inFlight += 1
        return () => {
          calls.isBusy = false
          inFlight -= 1
          const now = clock.now()
          // Counted from its end: the platform counts when it arrives, which is later than when it goes out.
          note(calls, limits.perChat, now)
          if (limits.perClient) note(client, limits.perClient, now)
          for (const listener of calls.waiting.splice(0)) listener()
        }
      },
      onFree: (listener) => {
        calls.waiting.push(listener)
      },
      freeze: (forMs, scope) => {
        const frozen = scope === 'client' ? client : calls
        frozen.frozenUntil = Math.max(frozen.frozenUntil, clock.now() + forMs)
      },
    }
  }

  function note(calls: Calls, { perMs }: Budget, now: number): void {
    calls.times = [...calls.times.filter((time) => time > now - perMs), now]
  }

  function roomAt({ times, frozenUntil }: Calls, { calls, perMs }: Budget, priority: Priority, inFlight = 0): number {
    const most = Math.max(1, calls - Math.floor(calls * leaves[priority]))
    const now = clock.now()
    const recent = [...times.filter((time) => time > now - perMs), ...Array<number>(inFlight).fill(now)]
    const inTheWay = recent[recent.length - most]
    return Math.max(frozenUntil, inTheWay === undefined ? 0 : inTheWay + perMs)
  }
}

const pacers = new WeakMap<object, Pacer>()

/** The one of a client, since all that is written with it has one budget. It goes by the clock of whoever came first. */
export function pacerOf(client: object, clock: Clock): Pacer {
  const pacer = pacers.get(client) ?? createPacer({ clock })
  pacers.set(client, pacer)
  return pacer
}
