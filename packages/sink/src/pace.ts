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
  /**
   * When a call of that urgency may go out, in ms since the epoch; a time that has passed: now. With `calls`: when the
   * last of that many calls in a row may, as far as is known now. Default 1.
   */
  readyAt(priority: Priority, calls?: number): number
  /**
   * The owner has an ask to show that waits since that time, in ms since the epoch. Until it is shown, which is told by
   * `undefined`, other owners let it go first.
   */
  claim(owner: object, since: number | undefined): void
  /** Another owner's ask goes first: it waits longer than the owner's, if that has one. `onFree` tells when to look again. */
  isBehind(owner: object): boolean
  /** The owner has a permission that people answer in words: such are shown one at a time in a chat and thread. Undefined: it has none. */
  hold(owner: object, held: Held | undefined): void
  /** Another owner's permission is answered first: one that is shown, else the one that waits longest. `onFree` tells when to look again. */
  isHeld(owner: object): boolean
  /** A call goes out. Undefined while another one is on its way. */
  enter(): (() => void) | undefined
  /** Once, when the call on its way is over, or an ask that others waited for. */
  onFree(listener: () => void): void
  /** The platform wants to hear nothing for a while. */
  freeze(forMs: number, scope: 'chat' | 'client'): void
  /** True the first time that this process asks for the topic: for what a chat is told once. */
  isFirst(topic: string): boolean
}

export interface Held {
  /** In ms since the epoch. */
  readonly since: number
  readonly isShown: boolean
}

/** What each kind leaves of a budget for those above it. */
const leaves: Readonly<Record<Priority, number>> = { ask: 0, final: 1 / 5, text: 1 / 4, status: 1 / 2 }

interface Calls {
  /** When they went out, the oldest first. */
  times: number[]
  frozenUntil: number
}

interface ChatCalls extends Calls {
  isBusy: boolean
  waiting: (() => void)[]
  /** Since when the ask of each owner waits. */
  readonly claims: Map<object, number>
  readonly held: Map<object, Held & { readonly thread: string | undefined }>
  /** What the chat was told once. */
  readonly told: Set<string>
}

interface Room {
  readonly priority: Priority
  readonly count: number
  readonly inFlight?: number | undefined
}

function newChat(): ChatCalls {
  return { times: [], frozenUntil: 0, isBusy: false, waiting: [], claims: new Map(), held: new Map(), told: new Set() }
}

export function createPacer({ clock }: { readonly clock: Clock }): Pacer {
  const client: Calls = { times: [], frozenUntil: 0 }
  /** Calls on their way, in all chats: they take room before they are over. */
  let inFlight = 0
  const chats = new Map<string, ChatCalls>()
  return { chat }

  function chat(place: Chat, limits: Limits): ChatPace {
    // Threads share their chat's budget.
    const calls = chats.get(place.id) ?? newChat()
    chats.set(place.id, calls)
    return {
      readyAt: (priority, count = 1) =>
        Math.max(
          roomAt(calls, limits.perChat, { priority, count }),
          limits.perClient ? roomAt(client, limits.perClient, { priority, count, inFlight }) : client.frozenUntil,
        ),
      claim: (owner, since) => {
        const isOver = since === undefined && calls.claims.delete(owner)
        if (since !== undefined) calls.claims.set(owner, since)
        if (isOver) tell(calls)
      },
      isBehind: (owner) => {
        const [first] = [...calls.claims].toSorted(([, a], [, b]) => a - b)
        return first !== undefined && first[0] !== owner
      },
      hold: (owner, held) => {
        const isOver = held === undefined && calls.held.delete(owner)
        if (held) calls.held.set(owner, { ...held, thread: place.thread })
        if (isOver) tell(calls)
      },
      isHeld: (owner) => {
        const here = [...calls.held].filter(([, { thread }]) => thread === place.thread)
        const [first] = here.toSorted(([, a], [, b]) => Number(b.isShown) - Number(a.isShown) || a.since - b.since)
        return first !== undefined && first[0] !== owner
      },
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
          tell(calls)
        }
      },
      onFree: (listener) => {
        calls.waiting.push(listener)
      },
      freeze: (forMs, scope) => {
        const frozen = scope === 'client' ? client : calls
        frozen.frozenUntil = Math.max(frozen.frozenUntil, clock.now() + forMs)
      },
      isFirst: (topic) => !calls.told.has(topic) && calls.told.add(topic).has(topic),
    }
  }

  function note(calls: Calls, { perMs }: Budget, now: number): void {
    calls.times = [...calls.times.filter((time) => time > now - perMs), now]
  }

  function tell({ waiting }: ChatCalls): void {
    for (const listener of waiting.splice(0)) listener()
  }

  function roomAt(
    { times, frozenUntil }: Calls,
    { calls, perMs }: Budget,
    { priority, count, inFlight = 0 }: Room,
  ): number {
    const most = Math.max(1, calls - Math.floor(calls * leaves[priority]))
    const now = clock.now()
    const recent = [...times.filter((time) => time > now - perMs), ...Array<number>(inFlight).fill(now)]
    let at = frozenUntil
    for (let call = 0; call < count; call++) {
      const inTheWay = recent[recent.length - most]
      at = Math.max(at, inTheWay === undefined ? 0 : inTheWay + perMs)
      recent.push(Math.max(at, now))
    }
    return at
  }
}

const pacers = new WeakMap<object, Pacer>()

/** The one of a client, since all that is written with it has one budget. It goes by the clock of whoever came first. */
export function pacerOf(client: object, clock: Clock): Pacer {
  const pacer = pacers.get(client) ?? createPacer({ clock })
  pacers.set(client, pacer)
  return pacer
}
