import type { Change } from '../change.ts'
import { planOf } from './plan.ts'
import { createTextReader } from './text-reader.ts'
import type { Thought } from './thought.ts'
import { createToolReader } from './tool-reader.ts'

/**
 * Reads the changes of one reply, from its beginning and in order, as thoughts. Each change gives zero or more; those that
 * say nothing about the agent's thoughts, words, tools or plan give none. Reads no clock and makes no calls.
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
