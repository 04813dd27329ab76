import type { Change } from '../change.ts'
import type { Part, ReasoningPart, TextPart } from '../part.ts'
import type { Todo } from '../reply.ts'
import type { PlanEntry, Thought } from './thought.ts'
import { createToolReader } from './tool-reader.ts'

/**
 * Creates a function that turns the changes of one reply into thoughts. Call it with each change, from the beginning and
 * in order. Returns an empty list for a change without a thought. Pure: it reads no clock and makes no calls.
 */
export function createThoughtReader(): (change: Change) => readonly Thought[] {
  const thoughtOf = createTextReader('reasoning')
  const messageOf = createTextReader('text')
  const toolsOf = createToolReader()
  return (change) => {
    if (change.type === 'todosChanged') return [{ type: 'plan', entries: planOf(change.todos) }]
    const thought = thoughtOf(change)
    if (thought !== '') return [{ type: 'thought', text: thought }]
    const message = messageOf(change)
    if (message !== '') return [{ type: 'message', text: message }]
    return toolsOf(change)
  }
}

const statuses: ReadonlyMap<string, PlanEntry['status']> = new Map([
  ['pending', 'pending'],
  ['in_progress', 'in_progress'],
  ['completed', 'completed'],
  ['cancelled', 'completed'],
])

const priorities: ReadonlyMap<string, PlanEntry['priority']> = new Map([
  ['high', 'high'],
  ['medium', 'medium'],
  ['low', 'low'],
])

function planOf(todos: readonly Todo[]): readonly PlanEntry[] {
  return todos.map(({ content, status, priority = 'medium' }) => ({
    content,
    status: statuses.get(status) ?? 'pending',
    priority: priorities.get(priority) ?? 'medium',
  }))
}

type Spoken = TextPart | ReasoningPart

/** A part that is not fully emitted yet. */
interface Entry {
  /** The text that was emitted. */
  said: string
  /** The known text that was not emitted yet. */
  rest: string
  isOpen: boolean
}

/**
 * Returns the text that a change adds to all parts of a type, joined by blank lines. A part waits until the one before it
 * is closed. White space at the end of an open part waits too, because the server may trim it. Emitted text can't be
 * taken back: if the server replaces a text, the new text follows.
 */
function createTextReader(type: Spoken['type']): (change: Change) => string {
  /** Parts that are not fully emitted yet, oldest first. */
  const entries = new Map<string, Entry>()
  const closed = new Set<string>()
  let isBegun = false
  return (change) => {
    if (!('part' in change) || !isSpoken(change.part, type)) return ''
    note(change, change.part)
    return say()
  }

  function note(change: Change, part: Spoken): void {
    const key = `${part.messageID} ${part.id}`
    if (change.type === 'partRemoved') {
      entries.delete(key)
      closed.delete(key)
      return
    }
    if (closed.has(key)) return
    const entry = entries.get(key) ?? { said: '', rest: '', isOpen: true }
    entries.set(key, entry)
    if (change.type === 'partChanged' && change.delta !== undefined) entry.rest += change.delta
    else reread(entry, part.text)
    entry.isOpen = change.type !== 'partFinalized'
  }

  function reread(entry: Entry, text: string): void {
    if (startsWith(text, entry.said)) entry.rest = text.slice(entry.said.length)
    // The server trimmed it.
    else if (startsWith(entry.said, text)) entry.rest = ''
    else {
      entry.said = ''
      entry.rest = text
    }
  }

  function say(): string {
    let piece = ''
    for (const [key, entry] of entries) {
      const text = entry.isOpen ? entry.rest.trimEnd() : entry.rest
      const isBlank = entry.said === '' && text.trim() === ''
      if (text !== '' && !isBlank) {
        piece += entry.said === '' && isBegun ? `\n\n${text}` : text
        isBegun = true
        entry.said += text
        entry.rest = entry.rest.slice(text.length)
      }
      if (entry.isOpen) break
      entries.delete(key)
      closed.add(key)
    }
    return piece
  }
}

function isSpoken(part: Part, type: Spoken['type']): part is Spoken {
  if (part.type === 'text') return type === 'text' && part.synthetic === undefined && part.ignored === undefined
  return part.type === 'reasoning' && type === 'reasoning'
}

/** Comparing a slice is faster than `String.startsWith` on long texts. */
function startsWith(text: string, start: string): boolean {
  return text.length >= start.length && text.slice(0, start.length) === start
}
