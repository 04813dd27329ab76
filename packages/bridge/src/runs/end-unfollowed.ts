import { BridgeError } from '../error.ts'
import { plain } from '../markdown.ts'
import type { Execution } from '../registry/execution.ts'
import { closeShown } from './close-shown.ts'
import type { RunContext } from './context.ts'
import { isCutShort } from './shown-by.ts'
import { sinksFor } from './sink-for.ts'

/**
 * Ends an execution that can't be followed any more, for its reason: its messages are closed, or its chat is told. A
 * process that ends before has the next one do so.
 */
export async function endUnfollowed(
  context: RunContext,
  execution: Execution,
  isStopped: () => boolean,
): Promise<void> {
  const { state, registry, channels, failed, words, onError } = context
  const { prompt, server, reason = '' } = execution
  const done = registry.write({ ...execution, phase: 'done' })
  if (!channels.has(prompt.channel)) {
    await state.commit([done])
    return onError(new BridgeError('channel', `${execution.id}: ${reason}`))
  }
  const shows = sinksFor(context, execution, { server })
  const closed = await closeShown(context, execution, shows)
  if (isStopped() || (closed && isCutShort(closed.delivery))) return
  const missing = closed ? failed.of(execution, closed.reply, [{ place: shows[0], delivery: closed.delivery }]) : []
  if (closed && missing.length === 0) return void (await state.commit([done]))
  const owed = missing[0] ?? failed.owed(execution, words.failed(plain(reason)))
  await state.commit([registry.write({ ...execution, phase: 'undelivered' }), ...failed.keep([owed])])
  if (closed) failed.kept([owed])
  else await failed.tell(owed, prompt.messageRef, [done])
}
