import type { Ask, Reply, ReplyError, ReplyStream } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { until } from '@reply/testing'
import { type AgUiOptions, agUi } from '../../src/index.ts'
import { type FakeRun, startFakeAgent } from './fake-agent.ts'

/** A client of a fake agent. `await using` ends both. */
export async function stage(
  act: Parameters<typeof startFakeAgent>[0],
  options: Partial<Pick<AgUiOptions, 'keepsThreads' | 'onEvent' | 'responseMs' | 'silenceMs'>> & {
    readonly headers?: Readonly<Record<string, string>>
  } = {},
) {
  const agent = await startFakeAgent(act)
  const errors: ReplyError[] = []
  const onError = (error: ReplyError): void => void errors.push(error)
  const source = agUi({ url: agent.url, onError, ...options })
  const client = connectSource(source, { onError })
  return {
    agent,
    source,
    client,
    errors,
    [Symbol.asyncDispose]: async () => {
      await client.close()
      await agent.close()
    },
  }
}

/** Plays one function per run of the agent, in order. */
export function inTurn(...acts: readonly ((run: FakeRun) => 'stays' | undefined)[]) {
  let at = 0
  return (run: FakeRun): 'stays' | undefined => {
    const act = acts[at]
    at += 1
    if (!act) throw new Error(`The agent was run ${at} times.`)
    return act(run)
  }
}

/** Ends a run after these events. */
export function sends(...events: readonly Readonly<Record<string, unknown>>[]) {
  return ({ send, finish }: FakeRun): undefined => {
    send(...events)
    finish()
  }
}

/** Ends a run with interrupts. */
export function asks(events: readonly Readonly<Record<string, unknown>>[], ...interrupts: readonly unknown[]) {
  return ({ send, finish }: FakeRun): undefined => {
    send(...events)
    finish({ type: 'interrupt', interrupts })
  }
}

/** Resolves with the pending asks of a prompt's reply, once there are as many. */
export async function pendingOf(stream: ReplyStream, count = 1): Promise<readonly Ask[]> {
  const pending = (): readonly Ask[] => stream.reply?.asks.filter(({ status }) => status === 'pending') ?? []
  await until(() => pending().length >= count, `${count} asks`, 5000)
  return pending()
}

/** What a reply says and does, in order. */
export function partsOf({ messages }: Reply): readonly (readonly unknown[])[] {
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      if (part.type === 'text' || part.type === 'reasoning') return [[part.type, part.text]]
      if (part.type === 'tool')
        return [[part.tool, part.state.status, part.state.input, part.state.output ?? part.state.error]]
      return []
    }),
  )
}
