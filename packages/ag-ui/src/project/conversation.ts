import { promptOf, type Reply } from '@reply/core'
import type { AgUiMessage } from '../event.ts'

/** The text of a message's content, its parts joined with a blank line as in a prompt. */
export function textIn(content: string | readonly unknown[]): string {
  if (typeof content === 'string') return content
  const texts = content.flatMap((part) =>
    typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string' ? [part.text] : [],
  )
  return texts.join('\n\n')
}

/**
 * Finds the messages of a client that are prompts of the reply, by the ids of the prompts. A client names its messages itself, so
 * they are found by their text, the last ones first.
 */
export function findPrompts(history: readonly AgUiMessage[], reply: Reply): ReadonlyMap<string, AgUiMessage> {
  const found = new Map<string, AgUiMessage>()
  let end = history.length
  for (const promptID of reply.promptIDs.toReversed()) {
    const text = promptOf(reply, promptID)?.text.trim()
    if (text === undefined) continue
    const index = history.findLastIndex(
      (message, at) =>
        at < end && (message.id === promptID || (message.role === 'user' && textIn(message.content).trim() === text)),
    )
    const message = history[index]
    if (message === undefined) continue
    found.set(promptID, message)
    end = index
  }
  return found
}

/**
 * Returns a conversation in which the reply is as it is now. `own` are the reply's messages, with `prompts` as `findPrompts`
 * returns them. What a client has of an older state of the reply is dropped, and prompts that the reply doesn't have yet follow.
 */
export function conversationOf(
  history: readonly AgUiMessage[],
  own: readonly AgUiMessage[],
  prompts: ReadonlyMap<string, AgUiMessage>,
): readonly AgUiMessage[] {
  const originals = new Map([...prompts.values()].map((message) => [message.id, message]))
  const ids = new Set(own.map(({ id }) => id))
  const begin = beginOf(history, own, ids, originals)
  return [
    ...history.slice(0, begin).filter(({ id }) => !ids.has(id)),
    ...own.map((message) => originals.get(message.id) ?? message),
    ...history.slice(begin).filter(({ id, role }) => role === 'user' && !ids.has(id)),
  ]
}

/** The index from which on the messages of a client belong to the reply. */
function beginOf(
  history: readonly AgUiMessage[],
  own: readonly AgUiMessage[],
  ids: ReadonlySet<string>,
  originals: ReadonlyMap<string, AgUiMessage>,
): number {
  const prompt = history.findIndex(({ id }) => originals.has(id))
  const rest = prompt === -1 ? [] : history.slice(prompt).filter(({ role }) => role !== 'user')
  // The same words may have been the prompt of another reply.
  const isItsPrompt =
    rest.length === 0 || rest.some(({ id }) => ids.has(id)) || own.every(({ role }) => role === 'user')
  if (prompt !== -1 && isItsPrompt) return prompt
  const known = history.findIndex(({ id, role }) => role !== 'user' && ids.has(id))
  if (known !== -1) return known
  // The newest message of a person began the reply, unless the reply begins with a prompt of another client.
  const [first] = own
  const isOfOthers = first?.role === 'user' && !originals.has(first.id)
  return isOfOthers ? history.findLastIndex(({ role }) => role !== 'user') + 1 : history.length
}
