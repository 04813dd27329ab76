import type { ChatPlace } from '../place.ts'
import { toExecution, toLog, toQueuedPrompt } from '../registry/decode.ts'
import type { Registry } from '../registry/registry.ts'
import type { State } from '../state.ts'
import type { Write } from '../store/store.ts'
import type { Runner } from './runner.ts'

export interface RealignOptions {
  readonly state: State
  readonly registry: Pick<Registry, 'write' | 'writeLog'>
  readonly enqueue: Runner['enqueue']
}

/**
 * Moves executions and waiting prompts to where the mirrors of this config have them: an earlier one may have had others.
 * Moves logs out of the executions of an earlier version.
 * Resolves with the places whose prompts wait.
 */
export async function realign({ state, registry, enqueue }: RealignOptions): Promise<readonly ChatPlace[]> {
  for (const { key, value } of await state.list('execution/')) {
    const { lines, ...execution } = toExecution(value)
    const write = registry.write(execution)
    if (lines) await state.commit([registry.writeLog(execution, lines), write])
    if (write.key === key) continue
    const logKey = key.replace(/^execution/, 'log')
    const log = await state.read(logKey)
    const moved = log === undefined ? [] : [registry.writeLog(execution, toLog(log))]
    await state.commit([{ type: 'remove', key }, { type: 'remove', key: logKey }, write, ...moved])
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
