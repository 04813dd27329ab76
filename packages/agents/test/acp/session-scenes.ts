import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answerOf, type Child, type Client, type Reply, type ReplyObserver, textOf, toolsOf } from '@reply/core'
import type { ScriptedModel } from '@reply/testing'
import { collectReplies } from '../collect-replies.ts'

/** Where a scene is played: on an agent with a scripted model, or on a recording of it. */
export interface SceneStage {
  readonly client: Client
  readonly directory: string
  /** Absent on a recording, which waits for nothing. */
  readonly model?: ScriptedModel | undefined
  /** Resolves when the client has sent so many requests of this method. Absent on a recording. */
  readonly whenSent?: ((method: string, count: number) => Promise<void>) | undefined
}

/** What an agent does besides and after its answer. A scene resolves with all settled replies of the session, in order. */
export interface SessionScene {
  /** Also the recording's name. */
  readonly name: string
  readonly play: (stage: SceneStage, mode: string) => Promise<readonly Reply[]>
}

const prompt = (scenario: string, agent: string) => ({ text: `[scenario:${scenario}] Go.`, agent })

/** Answers a sub-agent's ask, and waits until nothing works any more. */
function asking(name: string, scenario: string, answer: 'once' | 'reject'): SessionScene {
  return {
    name,
    play: async ({ client, directory }, mode) => {
      const watched = collectReplies(client, directory, {
        permissionAsked: ({ ask }) => void (answer === 'once' ? client.answer(ask, 'once') : client.reject(ask)),
      })
      await client.prompt(prompt(scenario, mode)).result
      return await watched.settled((replies) => isLastDone(replies) && replies.some(({ asks }) => asks.length > 0))
    },
  }
}

export const subagentScenes: readonly SessionScene[] = [
  asking('subagent', 'subagent', 'once'),
  asking('subagent-rejected', 'subagent', 'reject'),
  /** Stop, while the sub-agent works. Codex has answered before. */
  {
    name: 'subagent-abort',
    play: async ({ client, directory, model }, mode) => {
      const watched = collectReplies(client, directory)
      const stream = client.prompt(prompt('subagent-endless', mode))
      await watched.seen((reply) => textOf(reply).includes('It runs.'))
      await watched.seen((reply) => reply.children.some(hasWritten))
      if (mode === 'read-only') await stream.result
      await model?.held('child')
      await client.abort({ sessionID: stream.reply?.sessionID ?? '' })
      await stream.result
      return await watched.settled(isLastDone)
    },
  },
]

/** Qwen Code asks its questions as permissions. */
export const questionScene: SessionScene = {
  name: 'question',
  play: async ({ client }, mode) => {
    const observer: ReplyObserver = { questionAsked: ({ ask }) => void client.answer(ask, [['Blue']]) }
    return [await client.prompt(prompt('question', mode), { observe: () => [observer] }).result]
  },
}

/** A sub-agent of a sub-agent asks. */
export const deepScene = asking('subagent-deep', 'subagent-deep', 'once')

/** Waits for a command in the background, and lets the agent go on after it. Nothing of it waits on a recording. */
async function endCommand({ directory, model }: SceneStage): Promise<void> {
  if (!model) return
  writeFileSync(join(directory, 'done.txt'), '')
  await model.held('woken')
}

function allowing(client: Client): ReplyObserver {
  return { permissionAsked: ({ ask }) => void client.answer(ask, 'once') }
}

export const wakeScenes: readonly SessionScene[] = [
  /** The agent goes on by itself after a command in the background. */
  {
    name: 'wake',
    play: async (stage, mode) => {
      const { client, directory, model } = stage
      const watched = collectReplies(client, directory, allowing(client))
      await client.prompt(prompt('wake', mode)).result
      await endCommand(stage)
      model?.release('woken')
      return await watched.settled((replies) => replies.length === 2)
    },
  },
  /** Another prompt is sent while it does. */
  {
    name: 'wake-meanwhile',
    play: async (stage, mode) => {
      const { client, directory, model } = stage
      const watched = collectReplies(client, directory, allowing(client))
      const { sessionID } = await client.prompt(prompt('wake', mode)).result
      await endCommand(stage)
      await watched.begun(2)
      const second = client.prompt({ ...prompt('meanwhile', mode), sessionID })
      model?.release('woken')
      await second.result
      return await watched.settled((replies) => replies.some((reply) => answerOf(reply) === 'The second answer.'))
    },
  },
]

/** Begins a call that ends when `goOn` is called, and resolves while it runs. */
async function duringCall({ client, directory, model }: SceneStage, mode: string) {
  const watched = collectReplies(client, directory, allowing(client))
  const first = client.prompt(prompt('long', mode))
  await watched.seen((reply) => toolsOf(reply).some(({ state }) => Object.hasOwn(state.input, 'command')))
  const goOn = (): void => {
    if (model) writeFileSync(join(directory, 'done.txt'), '')
  }
  return { watched, first, sessionID: first.reply?.sessionID ?? '', goOn }
}

/** A prompt joins the turn that runs. */
export const steerScene: SessionScene = {
  name: 'steer',
  play: async (stage, mode) => {
    const { watched, first, sessionID, goOn } = await duringCall(stage, mode)
    const second = stage.client.prompt({ ...prompt('meanwhile', mode), sessionID })
    await stage.whenSent?.('_session/steering', 1)
    goOn()
    await Promise.all([first.result, second.result])
    return await watched.settled((replies) => replies.length === 1)
  },
}

/** A prompt is queued behind the turn that runs. */
export const queueScene: SessionScene = {
  name: 'queue',
  play: async (stage, mode) => {
    const { watched, first, sessionID, goOn } = await duringCall(stage, mode)
    const second = stage.client.prompt({ ...prompt('meanwhile', mode), sessionID, delivery: 'queue' })
    await stage.whenSent?.('session/prompt', 2)
    goOn()
    await Promise.all([first.result, second.result])
    return await watched.settled((replies) => replies.length === 2)
  },
}

/** Stop, while the agent goes on by itself. */
export const wakeAbortScene: SessionScene = {
  name: 'wake-abort',
  play: async (stage, mode) => {
    const { client, directory } = stage
    const watched = collectReplies(client, directory, allowing(client))
    const { sessionID } = await client.prompt(prompt('wake', mode)).result
    await endCommand(stage)
    await watched.begun(2)
    await client.abort({ sessionID })
    return await watched.settled((replies) => replies.length === 2)
  },
}

/** Another prompt is sent when the agent has begun to go on by itself, but has not said so yet. */
export const lateScene: SessionScene = {
  name: 'wake-late',
  play: async (stage, mode) => {
    const { client, directory, model } = stage
    const watched = collectReplies(client, directory, allowing(client))
    const { sessionID } = await client.prompt(prompt('wake-late', mode)).result
    await endCommand(stage)
    const second = client.prompt({ ...prompt('meanwhile', mode), sessionID })
    // It has begun once the agent has it.
    await watched.seen((reply) => reply.prompt?.text.includes('meanwhile') === true)
    model?.release('woken')
    await second.result
    return await watched.settled((replies) => replies.length === 2)
  },
}

function hasWritten({ reply }: Child): boolean {
  return textOf(reply) !== ''
}

function isDone(reply: Reply): boolean {
  return reply.phase === 'settled' && reply.children.every((child) => isDone(child.reply))
}

function isLastDone(replies: readonly Reply[]): boolean {
  const last = replies.at(-1)
  return last !== undefined && isDone(last)
}
