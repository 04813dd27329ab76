import type { ChatPlace } from '../place.ts'
import { toExecution, toQueuedPrompt } from '../registry/decode.ts'
import type { Registry } from '../registry/registry.ts'
import type { State } from '../state.ts'
import type { Write } from '../store/store.ts'
import type { Runner } from './runner.ts'

export interface RealignOptions {
  readonly state: State
  readonly registry: Pick<Registry, 'write'>
  readonly enqueue: Runner['enqueue']
}

/**
 * Moves executions and waiting prompts to where the mirrors of this config have them: an earlier one may have had others.
 * Resolves with the places whose prompts wait.
 */
export async function realign({ state, registry, enqueue }: RealignOptions): Promise<readonly ChatPlace[]> {
  for (const { key, value } of await state.list('execution/')) {
    const write = registry.write(toExecution(value))
    if (write.key !== key) await state.commit([{ type: 'remove', key }, write])
  }
  const waiting: ChatPlace[] = []
  for (const queue of await state.queues('prompts/')) {
    for (const { id, value } of await state.queue(queue)) {
      const prompt = toQueuedPrompt(value)
      const wanted = enqueue(prompt)
      const taken: Write = { type: 'dequeue', queue, id }
      if (wanted.queue !== queue) await state.commit([taken, wanted])
      waiting.push(prompt)
    }
  }
  return waiting
}
