import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Reply, textOf } from '@reply/core'
import type { AcpClient } from '../../../src/acp.ts'
import { collectReplies } from '../../collect-replies.ts'
import { launchClaude, launchCodex } from '../adapter-stage.ts'
import { play } from '../play.ts'
import { claudeScenes, codexScenes, type Scene } from '../scenes.ts'
import { deepScene, queueScene, type SceneStage, steerScene, subagentScenes } from '../session-scenes.ts'

/** A scene with a client of ACP. */
export interface SceneV2 {
  /** Also the recording's name. */
  readonly name: string
  readonly play: (stage: StageV2, mode: string) => Promise<readonly Reply[]>
}

/** A stage whose agent can be started again. */
export type StageV2 = SceneStage & { readonly client: AcpClient; readonly restart?: () => AcpClient }

/** A scene of one prompt. */
const onePrompt = (scene: Scene): SceneV2 => ({
  name: scene.name,
  play: async ({ client }) => [await play(client, scene)],
})

/** An edit is asked for with its changes. */
const edit = onePrompt({
  name: 'edit',
  scenario: 'edit',
  agent: 'default',
  onAsk: async (client, ask) => await client.answer(ask, 'once'),
})

/** A sub-agent asks after the turn that began it, and Claude goes on once it is done. */
const followed: SceneV2 = {
  name: 'subagent',
  play: async ({ client, directory }, agent) => {
    const watched = collectReplies(client, directory, { permissionAsked: ({ ask }) => void client.answer(ask, 'once') })
    await client.prompt({ text: '[scenario:subagent] Go.', agent }).result
    return await watched.settled((replies) => replies.some((reply) => textOf(reply).includes('The agent is done.')))
  },
}

/** Claude goes on after a command in the background has ended, and another prompt is sent meanwhile. */
const backgroundCommand: SceneV2 = {
  name: 'background-command',
  play: async ({ client, directory, model }, agent) => {
    const watched = collectReplies(client, directory)
    const { sessionID } = await client.prompt({ text: '[scenario:background-command] Go.', agent }).result
    if (model) writeFileSync(join(directory, 'done.txt'), '')
    await model?.held('woken')
    await watched.seen((reply) => reply.prompt === undefined)
    const second = client.prompt({ text: '[scenario:meanwhile] Go.', agent, sessionID })
    model?.release('woken')
    await second.result
    return await watched.settled((replies) => replies.length === 3)
  },
}

/** A program is killed in the middle of an answer. Its successor finds the run, and sends another prompt. */
const killed: SceneV2 = {
  name: 'killed',
  play: async ({ client, restart, directory }, agent) => {
    const watched = collectReplies(client, directory)
    const { sessionID } = await client.prompt({ text: '[scenario:tool] Go.', agent }).result
    const text = '[scenario:abort] Go.'
    const cut = client.prompt({ text, agent, sessionID }).result
    await watched.seen((reply) => textOf(reply).includes('because'))
    await client.close()
    await cut.catch(() => {})
    const successor = restart?.()
    if (!successor) throw new Error('The stage can not restart its agent.')
    await successor.ready
    const found = await successor.resume({ sessionID, directory, messageID: 'msg_of_the_killed', text, at: 0 })
    if (found.type !== 'found') throw new Error(`The run is ${found.type}.`)
    const replies = [await found.stream.result]
    replies.push(await successor.prompt({ text: '[scenario:text] Go on.', agent, sessionID }).result)
    const sessions = await successor.sessions({ directory })
    if (!sessions.some((session) => session.sessionID === sessionID)) throw new Error('The session is not listed.')
    await successor.close()
    return replies
  },
}

/** The scenes of version 2, by agent and version. */
export const agentsOfV2 = [
  ...['0.95.0', '0.101.0'].map(
    (version) =>
      ({
        agent: 'claude',
        folder: 'claude-agent-acp',
        version,
        mode: 'default',
        launch: launchClaude,
        scenes: [
          ...claudeScenes.map(onePrompt),
          ...subagentScenes.filter(({ name }) => name !== followed.name),
          followed,
          deepScene,
          edit,
          backgroundCommand,
          queueScene,
          killed,
        ] as readonly SceneV2[],
      }) as const,
  ),
  ...['2.5.0', '2.6.0'].map(
    (version) =>
      ({
        agent: 'codex',
        folder: 'codex-acp',
        version,
        mode: 'read-only',
        launch: launchCodex,
        scenes: [
          // The warning about the model is a notice.
          ...codexScenes.map((scene) => onePrompt(scene.name === 'abort' ? { ...scene, abortAt: 40 } : scene)),
          ...subagentScenes,
          steerScene,
          queueScene,
          killed,
        ] as readonly SceneV2[],
      }) as const,
  ),
]
