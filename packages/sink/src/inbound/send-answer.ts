import type { ChatPace } from '../deliver/pace.ts'
import { waitForPause, waitForTurn } from '../deliver/wait-for-turn.ts'
import { type CallOptions, callPlatform } from '../port/call.ts'
import { PortError } from '../port/port-error.ts'

/** Where an answer goes, and until when it makes sense. */
export interface SendAnswerOptions extends CallOptions {
  /** The pace of what the platform counts the answer against. */
  readonly pace: ChatPace
  /** It is a message in the chat: it takes its turn and a part of the chat's budget. Others only wait out pauses. */
  readonly isMessage: boolean
  /** When it is too late, in ms since the epoch. */
  readonly until: number
}

/**
 * Sends an answer to a person. After a rate limit the sinks on that client wait as well, and the answer is sent again
 * when the pause is over; one that would come too late is dropped at once. Rejects with a `PortError`.
 */
export async function sendAnswer(
  make: (signal: AbortSignal) => Promise<unknown>,
  { pace, isMessage, until, ...call }: SendAnswerOptions,
): Promise<void> {
  const { clock, what } = call
  const inTurn = isMessage ? waitForTurn : waitForPause
  for (;;) {
    try {
      await inTurn(pace, clock, () => callPlatform(make, call), { until, what })
      return
    } catch (error) {
      // Nothing was sent, and the pace knows the pause now, so the next turn comes after it.
      if (!(error instanceof PortError) || error.type !== 'rate-limited') throw error
    }
  }
}
