import { type Ask, type Reply, textOf } from '@reply/core'
import { promptFor } from '@reply/testing'
import type { AcpClient } from '../../src/acp.ts'
import type { Scene } from './scenes.ts'

/** Plays a scene's person, and gives the settled reply. */
export async function play(client: AcpClient, scene: Scene): Promise<Reply> {
  const { scenario, before, onAsk, agent, abortAt = Number.POSITIVE_INFINITY } = scene
  const first = before === undefined ? undefined : await client.prompt({ text: promptFor(before) }).result
  const failures: unknown[] = []
  const answer = (ask: Ask): void => {
    void onAsk?.(client, ask).catch((error: unknown) => failures.push(error))
  }
  const text = scene.text ?? promptFor(scenario)
  const stream = client.prompt(
    { text, ...(agent && { agent }), ...(first && { sessionID: first.sessionID }) },
    {
      observe: () => [
        {
          questionAsked: ({ ask }) => answer(ask),
          permissionAsked: ({ ask }) => {
            if (ask.call) answer(ask)
          },
          askChanged: ({ ask }) => answer(ask),
          partChanged: ({ reply }) => {
            if (onAsk === undefined && scene.name === 'abort' && textOf(reply).length >= abortAt) void stream.abort()
          },
          phaseChanged: ({ phase }) => {
            if (phase === 'blocked' && scene.name === 'abort-permission') void stream.abort()
          },
        },
      ],
    },
  )
  const reply = await stream.result
  if (failures.length > 0) throw failures[0]
  return reply
}
