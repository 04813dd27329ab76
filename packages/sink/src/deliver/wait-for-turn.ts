import type { Clock } from '@reply/core'
import { pause } from '@reply/core/internal'
import type { CallKind } from '../port/limits.ts'
import { PortError } from '../port/port-error.ts'
import { type ChatPace, callHeedingLimits } from './pace.ts'

/** How long a call may wait for its turn. */
export interface TurnLimits {
  /** Cancels the wait. */
  readonly signal?: AbortSignal | undefined
  /** The latest time for the call, in ms since the epoch. Default: no limit. */
  readonly until?: number | undefined
  /** Names the call in the error. */
  readonly what?: string | undefined
  /** Default: a post. */
  readonly kind?: CallKind | undefined
}

/**
 * Makes a call outside of the sinks, for example of a note or a reaction, as soon as the chat's budget allows it, with the
 * priority of an ask. Rejects with the signal's reason if that aborts first, and with a `TooLateError` as soon as it is certain
 * that the turn comes too late.
 */
export async function waitForTurn<T>(
  pace: ChatPace,
  clock: Clock,
  call: () => Promise<T>,
  limits: TurnLimits = {},
): Promise<T> {
  const { signal, until = Number.POSITIVE_INFINITY, kind } = limits
  const owner = {}
  for (;;) {
    signal?.throwIfAborted()
    const readyAt = pace.readyAt('ask', kind)
    if (readyAt > clock.now()) {
      await waitUntil(readyAt, clock, limits)
      continue
    }
    // In the same turn of the event loop as `readyAt`, or callers in many chats would all take the last call of the client.
    const endCall = pace.isBehind(owner, 'ask') ? undefined : pace.startCall(kind)
    if (!endCall) {
      if (clock.now() >= until) throw new TooLateError(limits)
      await waitUntilFree(pace, clock, until)
      continue
    }
    let hasPosted = false
    try {
      const done = await callHeedingLimits(pace, call, kind)
      hasPosted = kind === undefined || kind === 'post'
      return done
    } finally {
      endCall(hasPosted)
    }
  }
}

/**
 * Makes a call that doesn't count against the chat's budget: it only waits while the platform has requested a pause.
 * Rejects as `waitForTurn` does.
 */
export async function waitForPause<T>(
  pace: ChatPace,
  clock: Clock,
  call: () => Promise<T>,
  limits: TurnLimits = {},
): Promise<T> {
  for (let at = pace.pausedUntil(); at > clock.now(); at = pace.pausedUntil()) await waitUntil(at, clock, limits)
  return await callHeedingLimits(pace, call)
}

/**
 * Waits until `at`, or until the signal aborts, and then throws its reason. Rejects at once with a `TooLateError` if `at`
 * is after `until`.
 */
async function waitUntil(at: number, clock: Clock, limits: TurnLimits): Promise<void> {
  const { signal, until = Number.POSITIVE_INFINITY } = limits
  if (at > until) throw new TooLateError(limits)
  await pause(clock, at - clock.now(), signal)
  signal?.throwIfAborted()
}

/** Resolves when another call has ended, or at `until`. */
async function waitUntilFree(pace: ChatPace, clock: Clock, until: number): Promise<void> {
  const free = new AbortController()
  const freeing = new Promise<void>((resolve) => pace.onFree(resolve)).then(() => free.abort())
  await (until === Number.POSITIVE_INFINITY ? freeing : pause(clock, until - clock.now(), free.signal))
}

/** The turn of a call comes after `until`. Nothing was sent, and the same call may work later. */
export class TooLateError extends PortError {
  constructor({ what = 'a call' }: TurnLimits) {
    super('unreachable', `${what}: dropped, because the rate limit of the chat would delay it for too long.`)
  }
}
