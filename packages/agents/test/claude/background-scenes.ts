import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client, PermissionAsk, Reply } from '@reply/core'
import type { ScriptedModel } from '@reply/testing'
import { collectReplies } from '../collect-replies.ts'

/** Where a scene is played: on an agent with a scripted model, or on a recording of it. */
export interface SceneStage {
  readonly client: Client
  readonly directory: string
  /** The mode of the agent that asks before it acts. Absent if it does so by default. */
  readonly agent?: string | undefined
  /** Absent on a recording, which waits for nothing. */
  readonly model?: ScriptedModel | undefined
}

/** What an agent does after its answer. A scene resolves with all replies of the session, in order. */
export type Scene = (stage: SceneStage) => Promise<readonly Reply[]>

export const backgroundScenes: Readonly<Record<string, Scene>> = {
  /** The sub-agent asks after its parent's turn, is allowed, ends, and Claude Code goes on. */
  'background-agent': async ({ client, directory, agent }) => {
    const watched = collectReplies(client, directory, { permissionAsked: ({ ask }) => void client.answer(ask, 'once') })
    await client.prompt({ text: '[scenario:background-agent] Go.', agent }).result
    return await watched.settled((replies) =>
      replies.some(({ messages }) => textIn(messages).includes('I know it now.')),
    )
  },
  /** The sub-agent asks after its parent's turn. Another prompt is answered before the person answers. */
  'background-asked': async ({ client, directory, agent, model }) => {
    let ask = (_: PermissionAsk): void => {}
    const asked = new Promise<PermissionAsk>((resolve) => {
      ask = resolve
    })
    const watched = collectReplies(client, directory, { permissionAsked: (change) => ask(change.ask) })
    const { sessionID } = await client.prompt({ text: '[scenario:background-asked] Go.', agent }).result
    model?.release('parent')
    const pending = await asked
    await client.prompt({ text: '[scenario:meanwhile-asked] Go.', agent, sessionID }).result
    await client.answer(pending, 'once')
    return await watched.settled((replies) =>
      replies.some(({ messages }) => textIn(messages).includes('I know it now.')),
    )
  },
  /** Another prompt is sent while the turn after the command runs. */
  'background-command': async ({ client, directory, agent, model }) => {
    const watched = collectReplies(client, directory, { permissionAsked: ({ ask }) => void client.answer(ask, 'once') })
    const { sessionID } = await client.prompt({ text: '[scenario:background-command] Go.', agent }).result
    writeFileSync(join(directory, 'done.txt'), '')
    await model?.held('woken')
    await watched.begun(2)
    const second = client.prompt({ text: '[scenario:meanwhile] Go.', agent, sessionID })
    model?.release('woken')
    await second.result
    return await watched.settled((replies) => replies.length === 3)
  },
  /** Stop, while a sub-agent works in the background and no run is open. */
  'background-endless': async ({ client, directory, agent, model }) => {
    let allow = (): void => {}
    const allowed = new Promise<void>((resolve) => {
      allow = resolve
    })
    const watched = collectReplies(client, directory, {
      permissionAsked: async ({ ask }) => {
        await client.answer(ask, 'once')
        allow()
      },
    })
    const { sessionID } = await client.prompt({ text: '[scenario:background-endless] Go.', agent }).result
    await allowed
    await model?.held('forever')
    await client.abort({ sessionID })
    return await watched.settled((replies) => replies.length === 2)
  },
}

function textIn(messages: Reply['messages']): string {
  return messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))).join('')
}
