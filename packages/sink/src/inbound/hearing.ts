import type { Clock } from '@reply/core'
import { backOffMs } from '../times.ts'

/** Whether a channel gets what people write. */
export type Hearing =
  /** It gets what people write, or waits for the platform's requests. */
  | { readonly status: 'hearing' }
  /**
   * It gets nothing: the platform refuses it, or can't be reached for a minute. It tries again by itself.
   */
  | {
      readonly status: 'deaf'
      /** When the first try failed, in ms since the epoch. */
      readonly since: number
      /** What failed and the cure, in a sentence. Contains no secret. */
      readonly reason: string
    }

/** Keeps track of whether a channel hears, and of how long to wait before the next try. */
export interface HearingWatch {
  /** The platform answered: a poll, a greeting of its socket. */
  heard(): void
  /** A try failed, or a connection ended. Returns how long to wait before the next try, in ms. */
  failed(error: Error): number
  /** The platform refused the channel: a person has to do something. Returns how long to wait before the next try, in ms. */
  refused(error: Error): number
}

/** What fails for less than this is an ordinary interruption, and not told, in ms. */
const deafAfterMs = 60_000
/** The waits after a refusal: 5 s, doubled each time, at most five minutes. A token may be back, and calls can lead to a ban. */
const refusedMs = 5000
const mostRefusedMs = 300_000

/** Tells each change, and a new reason. What `onHearing` throws goes to `onError`. */
export function createHearing(options: {
  readonly onHearing?: ((hearing: Hearing) => void) | undefined
  readonly onError: (error: Error) => void
  readonly clock: Clock
}): HearingWatch {
  const { onHearing, onError, clock } = options
  let since: number | undefined
  let hearingSince: number | undefined
  let failures = 0
  let refusals = 0
  /** The reason that was told last; empty while it hears. Undefined before the first. */
  let told: string | undefined
  return { heard, failed, refused }

  function heard(): void {
    failures = 0
    since = undefined
    hearingSince ??= clock.now()
    say('', { status: 'hearing' })
  }

  function failed(error: Error): number {
    since ??= clock.now()
    hearingSince = undefined
    if (clock.now() - since >= deafAfterMs) tell(error, since)
    failures += 1
    return backOffMs(failures - 1)
  }

  function refused(error: Error): number {
    since ??= clock.now()
    // Two processes with one login replace each other: each hears for a moment only.
    if (hearingSince !== undefined && clock.now() - hearingSince >= deafAfterMs) refusals = 0
    hearingSince = undefined
    tell(error, since)
    refusals += 1
    return Math.min(mostRefusedMs, refusedMs * 2 ** (refusals - 1))
  }

  function tell({ message }: Error, at: number): void {
    say(message, { status: 'deaf', since: at, reason: message })
  }

  function say(reason: string, hearing: Hearing): void {
    if (reason === told) return
    told = reason
    try {
      onHearing?.(hearing)
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
