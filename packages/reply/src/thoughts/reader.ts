import type { Change } from '../change.ts'
import type { Part, ReasoningPart, TextPart } from '../part.ts'
import type { Todo } from '../reply.ts'
import type { PlanEntry, Thought } from './thought.ts'
import { createToolReader } from './tool-reader.ts'

/**
 * Creates a function that turns the changes of one reply into thoughts. Call it with each change, from the beginning
 * and in order. Returns an empty list for a change without a thought. Pure: it reads no clock and makes no calls.
 */
export function createThoughtReader(): (change: Change) => readonly Thought[] {
  const readThought = createTextReader('reasoning')
  const readMessage = createTextReader('text')
  const readTools = createToolReader()
  return (change) => {
    if (change.type === 'todosChanged') return [{ type: 'plan', entries: planOf(change.todos) }]
    const thought = readThought(change)
    if (thought !== '') return [{ type: 'thought', text: thought }]
    const message = readMessage(change)
    if (message !== '') return [{ type: 'message', text: message }]
    return readTools(change)
  }
}

const planStatuses: ReadonlyMap<string, PlanEntry['status']> = new Map([
  ['pending', 'pending'],
  ['in_progress', 'in_progress'],
  ['completed', 'completed'],
  ['cancelled', 'completed'],
])

const planPriorities: ReadonlyMap<string, PlanEntry['priority']> = new Map([
  ['high', 'high'],
  ['medium', 'medium'],
  ['low', 'low'],
])

/**
 * The todos as entries of a plan. A canceled todo is `completed`, an unknown status `pending`, and an unknown priority
 * `medium`.
 */
function planOf(todos: readonly Todo[]): readonly PlanEntry[] {
  return todos.map(({ content, status, priority = 'medium' }) => ({
    content,
    status: planStatuses.get(status) ?? 'pending',
    priority: planPriorities.get(priority) ?? 'medium',
  }))
}

type StreamedPart = TextPart | ReasoningPart

/** A part that is not fully emitted yet. */
interface UnfinishedPart {
  /** The text that was emitted. */
  emitted: string
  /** The known text that was not emitted yet. */
  unemitted: string
  isOpen: boolean
}

/**
 * Creates a function that returns the text that a change adds to the parts of this type, joined by blank lines. A part
 * waits until the one before it is closed. White space at the end of an open part waits too, because the server may
 * trim it. Emitted text can't be taken back: if the server replaces a text, the new text follows.
 */
function createTextReader(type: StreamedPart['type']): (change: Change) => string {
  /** Parts that are not fully emitted yet, oldest first. */
  const entries = new Map<string, UnfinishedPart>()
  const closed = new Set<string>()
  let hasEmitted = false
  return (change) => {
    if (!('part' in change) || !isStreamedPart(change.part, type)) return ''
    recordChange(change, change.part)
    return takeReadyText()
  }

  /**
   * Adds the change to the text that waits to be emitted. Drops the text of a removed part, which may begin again, and
   * ignores a closed one.
   */
  function recordChange(change: Change, part: StreamedPart): void {
    const key = `${part.messageID} ${part.id}`
    if (change.type === 'partRemoved') {
      entries.delete(key)
      closed.delete(key)
      return
    }
    if (closed.has(key)) return
    const entry = entries.get(key) ?? { emitted: '', unemitted: '', isOpen: true }
    entries.set(key, entry)
    if (change.type === 'partChanged' && change.delta !== undefined) entry.unemitted += change.delta
    else replaceText(entry, part.text)
    entry.isOpen = change.type !== 'partFinalized'
  }

  /**
   * Works out which text is still to be emitted after the part was sent as a whole: what it adds to the emitted text,
   * or nothing if it only got shorter. If it replaces emitted text, all of it is emitted.
   */
  function replaceText(entry: UnfinishedPart, text: string): void {
    if (startsWith(text, entry.emitted)) entry.unemitted = text.slice(entry.emitted.length)
    // The server trimmed it.
    else if (startsWith(entry.emitted, text)) entry.unemitted = ''
    else {
      entry.emitted = ''
      entry.unemitted = text
    }
  }

  /**
   * Returns the text that can be emitted now, and marks it as emitted. Empty if there is none. Leaves out parts that
   * are blank as a whole.
   */
  function takeReadyText(): string {
    let piece = ''
    for (const [key, entry] of entries) {
      const text = entry.isOpen ? entry.unemitted.trimEnd() : entry.unemitted
      const isBlank = entry.emitted === '' && text.trim() === ''
      if (text !== '' && !isBlank) {
        piece += entry.emitted === '' && hasEmitted ? `\n\n${text}` : text
        hasEmitted = true
        entry.emitted += text
        entry.unemitted = entry.unemitted.slice(text.length)
      }
      if (entry.isOpen) break
      entries.delete(key)
      closed.add(key)
    }
    return piece
  }
}

/** Whether it is a part of this type. Text of the server, and hidden text, does not count. */
function isStreamedPart(part: Part, type: StreamedPart['type']): part is StreamedPart {
  if (part.type === 'text') return type === 'text' && part.synthetic === undefined && part.ignored === undefined
  return part.type === 'reasoning' && type === 'reasoning'
}

/** Like `String.startsWith`. Comparing a slice is faster on long texts. */
function startsWith(text: string, start: string): boolean {
  return text.length >= start.length && text.slice(0, start.length) === start
}
