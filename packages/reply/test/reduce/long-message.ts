import { emptyReply, type Message, type Reply, reduce } from '@reply/core'
import type { SessionScopedEvent } from '../../src/event.ts'
import { longFrom } from '../../src/reduce/long-parts.ts'
import { delta, root, stepFinish, text, tool } from '../make.ts'

/** Events that make a message long, for the tests of how its parts are kept. */

export const count = longFrom + 100
export const fold = (events: readonly SessionScopedEvent[], from: Reply = emptyReply(root)): Reply =>
  events.reduce((reply, event) => reduce(reply, event).reply, from)

/** Of one message: texts that were streamed, calls and ends of steps in turn. */
export const parts = (length: number, from = 0): SessionScopedEvent[] =>
  Array.from({ length }, (_, index) => partEvents(from + index)).flat()

export function partEvents(at: number): readonly SessionScopedEvent[] {
  const id = `m1.${at}`
  if (at % 3 === 0) return [stepFinish('m1', at, `${at}`)]
  if (at % 3 === 1) return ['running', 'completed'].map((status) => tool('m1', { callID: `${at}`, ...ended(status) }))
  return [text('m1', '', { id }), delta('m1', 'Done.', { partID: id }), text('m1', 'Done.', { id, status: 'sealed' })]
}

function ended(status: string): { readonly status: 'running' | 'completed'; readonly input: { readonly n: number } } {
  return { status: status === 'running' ? 'running' : 'completed', input: { n: 1 } }
}

export const first = ({ messages: [one] }: Reply): Message => {
  if (!one) throw new Error('The reply has no message.')
  return one
}

export function removal(partID: string): SessionScopedEvent {
  return { type: 'part-removed', at: 1, sessionID: root, messageID: 'm1', partID }
}
