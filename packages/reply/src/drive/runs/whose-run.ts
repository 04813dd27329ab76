import { type Clock, pause } from '../../clock.ts'
import type { Reply } from '../../reply.ts'
import type { LiveReply } from '../replies.ts'

/**
 * Whether another client's prompt began the run. False while the reply shows no prompt, and without a `messageID`, on
 * servers that make the ids.
 */
export function isBegunByOther({ promptIDs }: Reply, messageID: string | undefined): boolean {
  const [first] = promptIDs
  return messageID !== undefined && first !== undefined && first !== messageID
}

/** Whether the reply has one prompt and no other event, so nothing runs in it. */
export function holdsOnlyANote({ phase, promptIDs }: Reply): boolean {
  return phase === 'waiting' && promptIDs.length === 1
}

/** How long a server that was just started may take to show a posted prompt, in ms. */
const shownMs = 2000

/**
 * Resolves when the reply shows its first prompt or has settled, at the latest `shownMs` after `posting` settles. The
 * first prompt tells which client began the run. `posting` is the post of a prompt to that reply, if any.
 */
export async function whenFirstPromptShown(
  live: LiveReply,
  clock: Clock,
  posting: Promise<unknown> | undefined,
): Promise<void> {
  await posting?.catch(() => {})
  const shown = new AbortController()
  const endWhenShown = (): void => {
    const { promptIDs, phase } = live.reply()
    if (promptIDs.length > 0 || phase === 'settled') shown.abort()
  }
  const stop = live.follow(endWhenShown)
  endWhenShown()
  await pause(clock, shownMs, shown.signal)
  stop()
}
