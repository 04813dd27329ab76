import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Client, PermissionAsk, Reply } from '@reply/core'
import { connectSource, type Source } from '@reply/core/source'
import type { ScriptedModel } from '@reply/testing'
import { collectReplies } from '../collect-replies.ts'

/** Where a scene is played: on Codex with a scripted model, or on a recording of it. */
export interface SceneStage {
  readonly client: Client
  readonly directory: string
  /** Resolves when so many prompts were sent. */
  readonly posted: (count: number) => Promise<void>
  /** Absent on a recording, which waits for nothing. */
  readonly model?: ScriptedModel | undefined
}

/** A client of a source, with a condition for the prompts that the source has sent. */
export function connectScene(source: Source): Pick<SceneStage, 'client' | 'posted'> {
  let sent = 0
  const waiting = new Set<() => void>()
  const prompt: Source['prompt'] = async (place, input) => {
    await source.prompt(place, input)
    sent += 1
    for (const look of waiting) look()
  }
  const posted = async (count: number): Promise<void> =>
    await new Promise((resolve) => {
      const look = () => sent >= count && resolve()
      waiting.add(look)
      look()
    })
  return { client: connectSource({ ...source, prompt }), posted }
}

/** What Codex does besides its answer. */
export interface Scene {
  /** Codex's arguments for it. Default: none. */
  readonly args?: readonly string[]
  /** Resolves with all replies, in order. */
  readonly play: (stage: SceneStage) => Promise<readonly Reply[]>
}

/** Collects the replies, and answers each permission with `once` when it is told to. */
function collect({ client, directory }: SceneStage) {
  let ask = (_: PermissionAsk): void => {}
  const asked = new Promise<PermissionAsk>((resolve) => {
    ask = resolve
  })
  const replies = collectReplies(client, directory, { permissionAsked: (change) => ask(change.ask) })
  return { ...replies, allow: async () => await client.answer(await asked, 'once'), asked }
}

export const codexScenes: Readonly<Record<string, Scene>> = {
  /** The sub-agent asks after its parent's turn. Another prompt is answered before the person answers. */
  'background-agent': {
    play: async (stage) => {
      const { client, model } = stage
      const { asked, allow, begun, settled } = collect(stage)
      const { sessionID } = await client.prompt({ text: '[scenario:background-agent] Go.' }).result
      model?.release('parent')
      await asked
      // The sub-agent alone is shown before the next prompt.
      await begun(2)
      await client.prompt({ text: '[scenario:meanwhile] Go.', sessionID }).result
      await allow()
      return await settled((replies) =>
        replies.some(({ children }) => children.some(({ reply }) => reply.outcome !== undefined)),
      )
    },
  },
  /** Stop, while a sub-agent works and no run is open. */
  'background-endless': {
    play: async (stage) => {
      const { client, model } = stage
      const { begun, settled } = collect(stage)
      const { sessionID } = await client.prompt({ text: '[scenario:background-endless] Go.' }).result
      model?.release('parent')
      await model?.held('forever')
      await begun(2)
      await client.abort({ sessionID })
      return await settled((replies) => replies.length === 2)
    },
  },
  /** The command ends while another prompt is answered. */
  'background-command': {
    play: async (stage) => {
      const { client, directory } = stage
      const { settled } = collectReplies(client, directory, {
        permissionAsked: ({ ask }) => void client.answer(ask, 'once'),
      })
      const { sessionID } = await client.prompt({ text: '[scenario:background-command] Go.' }).result
      await client.prompt({ text: '[scenario:meanwhile-command] Go.', sessionID }).result
      return await settled((replies) => replies.length === 2)
    },
  },
  /** Codex goes on by itself, because its goal is not reached. */
  goal: {
    args: ['-c', 'features.goals=true'],
    play: async (stage) => {
      const { client } = stage
      const { settled } = collect(stage)
      await client.prompt({ text: '[scenario:goal] Go.' }).result
      return await settled((replies) => replies.length === 2)
    },
  },
  /** A prompt to a busy session. Codex reads it after its step, in the same turn. */
  steer: {
    play: async (stage) => {
      const { client, model, posted } = stage
      const { settled } = collect(stage)
      const first = client.prompt({ text: '[scenario:slow] Go.' })
      await model?.held('slow')
      await posted(1)
      const second = client.prompt({ text: '[scenario:meanwhile] Go.', sessionID: first.reply?.sessionID })
      await posted(2)
      model?.release('slow')
      await Promise.all([first.result, second.result])
      return await settled((replies) => replies.length === 1)
    },
  },
  /** Two pictures in a prompt, by their content and by their path. */
  pictures: {
    play: async (stage) => {
      const { client, directory } = stage
      writeFileSync(join(directory, 'dot.png'), Buffer.from(dot, 'base64'))
      const files = [
        { mime: 'image/png', url: `data:image/png;base64,${dot}` },
        { mime: 'image/png', url: pathToFileURL(join(directory, 'dot.png')).href },
      ]
      return [await client.prompt({ text: '[scenario:plain] What is it?', files }).result]
    },
  },
}

/** A picture of one pixel. */
export const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
