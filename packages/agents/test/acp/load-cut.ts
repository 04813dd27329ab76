import { type Reply, textOf } from '@reply/core'
import { collectReplies } from '../collect-replies.ts'
import type { Stage } from './launch.ts'

/**
 * Ends an agent in the middle of its second answer, and resumes that prompt with a new process of it. `onRestart` is called
 * in between.
 */
export async function loadCut(stage: Stage, mode: string, onRestart = (): void => {}): Promise<Reply> {
  const { client, directory, model, restart } = stage
  if (!restart || !model) throw new Error('The stage can not restart its agent.')
  const agent = mode
  const { sessionID } = await client.prompt({ text: '[scenario:first] Go.', agent }).result
  const watched = collectReplies(client, directory)
  const text = '[scenario:cut] Go.'
  const stream = client.prompt({ text, sessionID, agent })
  await watched.seen((reply) => textOf(reply).includes('It is cut here'))
  await client.close()
  await stream.result
  onRestart()
  const again = restart()
  const resumed = await again.resume({ sessionID, directory, text, at: Date.now() - 60_000, messageID: 'msg_before' })
  if (resumed.type !== 'found') throw new Error(`The prompt is ${resumed.type}.`)
  const reply = await resumed.stream.result
  await again.close()
  return reply
}
