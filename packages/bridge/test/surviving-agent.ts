import type { Client, Clock } from '@reply/core'
import { connectSource, createLocalAgent, type LocalAsk, type LocalOutput, type LocalRun } from '@reply/core/source'

/** A prompt that the agent got, or a run that it began by itself. Each bridge that knows it has a `LocalRun` of it. */
export interface Job {
  /** Empty for a run without a prompt. */
  readonly text: string
  readonly sessionID: string
  write(...outputs: readonly LocalOutput[]): void
  /** Asks a person. `taken` gets each answer that a bridge sends. It is the answer only if it does not throw. */
  ask(request: AskRequest, taken: (answer: Parameters<LocalAsk['reply']>[0]) => void): void
  end(ending?: Parameters<LocalRun['end']>[0]): void
}

type Without<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never
export type AskRequest = Without<LocalAsk, 'reply'>

/** What a run of the agent did so far. */
interface Kept {
  readonly sessionID: string
  readonly messageID: string
  readonly text: string
  readonly at: number
  readonly outputs: LocalOutput[]
  readonly asks: Map<string, LocalAsk>
  /** The same run at each connected bridge. */
  readonly runs: Set<LocalRun>
  ending: Parameters<LocalRun['end']>[0] | undefined
}

/** An agent that outlives the bridges that it serves, as a server does. It does with each prompt what the test says. */
export function survivingAgent(act: (job: Job) => void, clock: Clock) {
  const heard: string[] = []
  /** The names of the files of each prompt. */
  const heardFiles: (readonly string[])[] = []
  /** The prompts of the runs that bridges stopped. */
  const canceled: string[] = []
  /** The titles of the sessions. */
  const sessions = new Map<string, string>()
  const kept: Kept[] = []
  const connected = new Set<ReturnType<typeof createLocalAgent>>()
  let isLosing = false
  return { heard, heardFiles, canceled, connectTo, wake, loses }

  /** Loses what bridges send from now on, or no longer. */
  function loses(isSo: boolean): void {
    isLosing = isSo
  }

  /** Connects one bridge. Once it is dead, the agent takes nothing from it. */
  function connectTo(untilAlive: () => Promise<void>): Client {
    const agent = createLocalAgent({
      ...{ name: 'an agent in the test', clock },
      capabilities: () => ({ keepsPromptIDs: true, takesPromptsWhileBusy: true }),
      create: async ({ directory, title }) => {
        await untilAlive()
        return { ...addSession(title), directory }
      },
      find: async ({ sessionID, directory }) => {
        await untilAlive()
        const title = sessions.get(sessionID)
        return title === undefined ? undefined : { sessionID, directory, title }
      },
      sessions: async () => {
        await untilAlive()
        return [...sessions].map(([sessionID, title]) => ({ sessionID, directory: undefined, title }))
      },
      fork: async ({ directory }) => {
        await untilAlive()
        return { ...addSession(), directory }
      },
      models: async () => [{ providerID: 'test', modelID: 'big', name: 'Big' }] as never,
      agents: async () => [{ name: 'build', isPrimary: true }] as never,
      read: async ({ sessionID }, history) => {
        await untilAlive()
        for (const one of kept.filter((each) => each.sessionID === sessionID)) {
          const { messageID, at, text } = one
          const run = history.run({
            messageID,
            at,
            parts: [{ type: 'text', text: text || 'woken', synthetic: text === '' }],
          })
          run.write(...one.outputs)
          if (one.ending) run.end(one.ending)
          else {
            one.runs.add(run)
            for (const ask of one.asks.values()) run.ask(ask)
          }
        }
      },
      prompt: async (run, { text = '', files = [] }) => {
        await untilAlive()
        // What is lost on the way is not refused either.
        if (isLosing) await new Promise(() => {})
        heard.push(text)
        heardFiles.push(files.map(({ filename }) => filename ?? ''))
        const one = keep(run, text)
        setImmediate(() => act(jobOf(one)))
      },
      cancel: async (run) => {
        await untilAlive()
        const one = kept.find((each) => each.runs.has(run))
        if (!one) return
        canceled.push(one.text)
        jobOf(one).end({ type: 'aborted' })
      },
      close: () => void connected.delete(agent),
    })
    connected.add(agent)
    return connectSource(agent.source, { clock })
  }

  function addSession(title?: string): { readonly sessionID: string; readonly title: string } {
    const sessionID = `ses_${sessions.size + 1}`
    sessions.set(sessionID, title ?? `The ${sessionID}`)
    return { sessionID, title: title ?? `The ${sessionID}` }
  }

  function keep(run: LocalRun, text: string): Kept {
    const { sessionID, promptID: messageID } = run
    const at = clock.now()
    const one = {
      sessionID,
      messageID,
      text,
      at,
      outputs: [],
      asks: new Map(),
      runs: new Set([run]),
      ending: undefined,
    }
    kept.push(one)
    return one
  }

  /** Begins a run without a prompt, in the newest session. */
  function wake(): Job {
    const sessionID = [...sessions.keys()].at(-1) ?? ''
    const [agent] = [...connected].toReversed()
    if (!agent) throw new Error('No bridge is connected.')
    return jobOf(keep(agent.wake({ sessionID, directory: undefined }, 'woken'), ''))
  }

  function jobOf(one: Kept): Job {
    const { text, sessionID, outputs, asks, runs } = one
    return {
      ...{ text, sessionID },
      write: (...more) => {
        outputs.push(...more)
        for (const run of runs) run.write(...more)
      },
      ask: (request, taken) => {
        const ask: LocalAsk = {
          ...request,
          reply: (answer) => {
            if (answer.type === 'canceled' || !asks.has(request.requestID)) return
            taken(answer)
            asks.delete(request.requestID)
          },
        }
        asks.set(request.requestID, ask)
        for (const run of runs) run.ask(ask)
      },
      end: (ending = { type: 'completed' }) => {
        one.ending = ending
        for (const run of runs) run.end(ending)
      },
    }
  }
}
