import { type Clock, pause } from '../../clock.ts'
import type { Reply } from '../../reply.ts'
import type { LiveReply } from '../replies.ts'

/** Whether another client's prompt began the run. False while it shows no prompt, and on servers that make the ids. */
export function isBegunByOther({ promptIDs }: Reply, messageID: string | undefined): boolean {
  const [first] = promptIDs
  return messageID !== undefined && first !== undefined && first !== messageID
}

/** Whether nothing runs in the reply: it has one prompt without an answer. */
export function holdsOnlyANote({ phase, promptIDs }: Reply): boolean {
  return phase === 'waiting' && promptIDs.length === 1
}

/** How long a server that was just started may take to show a posted prompt, in ms. */
const shownMs = 2000

export interface FirstPromptOptions {
  readonly clock: Clock
  /** The post of a prompt to that reply, if any. */
  readonly posting: Promise<unknown> | undefined
}

/**
 * Resolves when the reply shows its first prompt, which tells which client began it, or when it has settled, at the
 * latest `shownMs` after the post. Until then another client's prompt may be the first one.
 */
export async function whenFirstPromptShown(live: LiveReply, { clock, posting }: FirstPromptOptions): Promise<void> {
  await posting?.catch(() => {})
  const shown = new AbortController()
  const look = (): void => {
    const { promptIDs, phase } = live.reply()
    if (promptIDs.length > 0 || phase === 'settled') shown.abort()
  }
  const stop = live.follow(look)
  look()
  await pause(clock, shownMs, shown.signal)
  stop()
}
