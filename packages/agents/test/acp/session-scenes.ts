import { type Child, type Client, observerOf, type Reply, type ReplyObserver, textOf } from '@reply/core'
import type { ScriptedModel } from '@reply/testing'
import { launchClaude, launchCodex } from './adapter-stage.ts'

/** Where a scene is played: on an agent with a scripted model, or on a recording of it. */
export interface SceneStage {
  readonly client: Client
  readonly directory: string
  /** Absent on a recording, which waits for nothing. */
  readonly model?: ScriptedModel | undefined
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
      const watched = watch(client, directory, {
        permissionAsked: ({ ask }) => void (answer === 'once' ? client.answer(ask, 'once') : client.reject(ask)),
      })
      await client.prompt(prompt(scenario, mode)).result
      return await watched.until((replies) => isLastDone(replies) && replies.some(({ asks }) => asks.length > 0))
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
      const watched = watch(client, directory)
      const stream = client.prompt(prompt('subagent-endless', mode))
      await watched.seen((reply) => textOf(reply).includes('It runs.'))
      await watched.seen((reply) => reply.children.some(hasWritten))
      if (mode === 'read-only') await stream.result
      await model?.held('child')
      await client.abort({ sessionID: stream.reply?.sessionID ?? '' })
      await stream.result
      return await watched.until(isLastDone)
    },
  },
]

/** A sub-agent of a sub-agent asks. */
export const deepScene = asking('subagent-deep', 'subagent-deep', 'once')

/** The agents with sub-agents of their own, the oldest version that has them as this protocol does, and the newest. */
export const sessionAgents = [
  ...['0.92.0', '0.101.0'].map(
    (version) =>
      ({
        agent: 'claude',
        folder: 'claude-agent-acp',
        version,
        mode: 'default',
        launch: launchClaude,
        scenes: [...subagentScenes, deepScene],
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
        scenes: subagentScenes,
      }) as const,
  ),
]

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

/** Collects the settled replies of a folder. A sub-agent that goes on after a reply settles another one. */
export function watch(client: Client, directory: string, observer: ReplyObserver = {}) {
  const settled: Reply[] = []
  const versions: Reply[] = []
  let look = (): void => {}
  const collect = observerOf((observation) => {
    versions.push(observation.reply)
    if (observation.type === 'replySettled') settled.push(observation.reply)
    look()
  })
  const stop = client.watch({ directory }, { observe: () => [collect, observer] })
  const when = async (isEnough: () => boolean): Promise<void> =>
    await new Promise((resolve) => {
      look = () => isEnough() && resolve()
      look()
    })
  return {
    /** Resolves once a version of a reply has fitted. */
    seen: async (fits: (reply: Reply) => boolean) => await when(() => versions.some(fits)),
    until: async (isEnough: (replies: readonly Reply[]) => boolean) => {
      await when(() => settled.length > 0 && isEnough(settled))
      stop()
      return settled
    },
  }
}
