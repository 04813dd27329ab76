import type { Reply } from '@reply/core'
import { cleanLine } from './sanitize.ts'

const MAX_LENGTH = 40
const MOST_LABELS = 500

// OpenCode's placeholder until a model has found a title: "New session - 2026-01-31T12:00:00.000Z".
const PLACEHOLDER = /^(?:New|Child) session - \d{4}-\d\d-\d\d/

/** Returns the label of a reply: its session's title, else the beginning of its prompt, else the session's id. */
export function labelOf({ title, prompt, sessionID }: Pick<Reply, 'title' | 'prompt' | 'sessionID'>): string {
  return givenTitle(title) ?? shortenedLine(prompt?.text ?? '') ?? cleanLine(sessionID)
}

/** Returns a real title in one line. Undefined for OpenCode's placeholder, and for a blank one. */
export function givenTitle(title: string | undefined): string | undefined {
  const text = cleanLine(title ?? '')
  return text === '' || PLACEHOLDER.test(text) ? undefined : text
}

/**
 * Returns a function that labels replies as `labelOf` does, so that people can tell apart the replies on one screen: it adds
 * the end of the id if another of the newest 500 sessions has the same label.
 */
export function createLabels(): (reply: Reply) => string {
  const labels = new Map<string, string>()
  return (reply) => {
    const { sessionID } = reply
    const label = labelOf(reply)
    labels.delete(sessionID)
    labels.set(sessionID, label)
    const [oldest] = labels.keys()
    if (oldest !== undefined && labels.size > MOST_LABELS) labels.delete(oldest)
    const isShared = [...labels].some(([other, own]) => other !== sessionID && own === label)
    return isShared ? `${label} (…${cleanLine(sessionID).slice(-5)})` : label
  }
}

/**
 * Returns one line. After 40 characters it is cut, at a word unless that is long, and ends in " …". Undefined if it is
 * blank.
 */
function shortenedLine(text: string): string | undefined {
  const line = cleanLine(text)
  if (line.length <= MAX_LENGTH) return line === '' ? undefined : line
  const cut = line.slice(0, MAX_LENGTH)
  const space = cut.lastIndexOf(' ')
  return `${(space > MAX_LENGTH / 2 ? cut.slice(0, space) : cut).trimEnd()} …`
}
