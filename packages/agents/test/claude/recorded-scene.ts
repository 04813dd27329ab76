import { join } from 'node:path'
import { type Reply, textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { claude } from '../../src/claude.ts'
import { receivedBy, writeReplayProgram } from './replay-program.ts'
import { promptScenes } from './scenes.ts'

/** Plays a scene on the recorded Claude Code. Returns the replies, what Claude Code got, and the errors. */
export async function playRecorded(folder: string, version: string, name: string) {
  const command = join(folder, `${version}-${name}`)
  writeReplayProgram(command, `${version}/${name}`)
  const errors: string[] = []
  const client = connectSource(claude({ command, cwd: folder, onError: ({ message }) => errors.push(message) }))
  const replies = (await promptScenes[name]?.play({ client, directory: folder })) ?? []
  await client.close()
  return { replies, received: receivedBy(command), errors }
}

/** What a scene comes to, which is the same each time it is played. */
export function outlineOf(replies: readonly Reply[]) {
  return replies.map((reply) => ({
    outcome: reply.outcome,
    text: textOf(reply),
    asks: reply.asks.map(({ type, status }) => [type, status]),
    tools: toolsOf(reply).map(({ tool, state }) => [tool, state.status]),
  }))
}
