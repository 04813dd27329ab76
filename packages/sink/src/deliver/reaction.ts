import type { Clock } from '@reply/core'
import type { ChatPace } from './pace.ts'
import { waitForTurn } from './wait-for-turn.ts'

type Reaction = 'seen' | 'done' | undefined

/**
 * Returns a function that sets the reaction on the message with the prompt, within the chat's budget and until `stopped`
 * aborts. Only the newest reaction counts, and failures of `react` are ignored.
 */
export function createReactionSetter(
  react: (reaction: Reaction) => Promise<void>,
  pace: ChatPace,
  clock: Clock,
  stopped: AbortSignal,
): (reaction: Reaction) => void {
  let wanted: Reaction
  let shown: Reaction
  let isSetting = false
  return (reaction) => {
    wanted = reaction
    if (!isSetting) void applyNewestReaction()
  }

  /** Sets reactions until the newest one was set or tried, or `stopped` aborts. Failures are ignored. */
  async function applyNewestReaction(): Promise<void> {
    isSetting = true
    while (wanted !== shown && !stopped.aborted) {
      shown = wanted
      await waitForTurn(pace, clock, sendWantedReaction, { signal: stopped, kind: 'react' }).catch(() => {
        // The reply shows the same.
      })
    }
    isSetting = false
  }

  /** Sets the reaction that is wanted by now, which may be newer than the one that waited. */
  async function sendWantedReaction(): Promise<void> {
    shown = wanted
    await react(wanted)
  }
}
