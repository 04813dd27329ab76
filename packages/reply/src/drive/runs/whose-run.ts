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

/**
 * Whose run a reply shows that was opened for a prompt. Another client's if the server took its prompt first.
 * `messageID` and `text` are the opened prompt's. On servers that make the ids, the texts decide. `unclear` if a step
 * came whose prompt wasn't seen, or is a picture without a text. Undefined while the reply shows neither, and if there is
 * neither id nor text. A prompt that contains the text counts as the own one, because plugins may add to it.
 */
export function whoseRun(
  { promptIDs, prompt, messages }: Reply,
  { messageID, text }: { readonly messageID: string | undefined; readonly text: string | undefined },
): 'own' | 'other' | 'unclear' | undefined {
  const parentIDs = messages.flatMap(({ parentID }) => (parentID === undefined ? [] : [parentID]))
  const [first] = promptIDs
  if (messageID !== undefined && (first === messageID || (first === undefined && parentIDs.includes(messageID))))
    return 'own'
  if (first === undefined) return parentIDs.length > 0 && (messageID ?? text) !== undefined ? 'unclear' : undefined
  if (messageID !== undefined) return 'other'
  const parts = prompt?.parts ?? []
  const written = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  // Some sources show a prompt without its parts.
  if (text === undefined || parts.length === 0) return undefined
  if (written.length === 0) return messages.length > 0 ? 'unclear' : undefined
  return written.some((each) => each.includes(text.trim())) ? 'own' : 'other'
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
