import { type Observation, observerOf, promptOf, type Reply, type ReplyObserver } from '@reply/core'
import { toError } from '../error.ts'
import type { Execution } from '../state/execution.ts'
import { terminalOf } from './followed-execution.ts'
import { isPromptOf } from './lost-runs.ts'
import type { BridgeServices } from './services.ts'
import { createGate, type Gate } from './show-run.ts'

/** Finds the prompts that join a run, and decides which of them its chats quote. */
export interface DeskPrompts {
  /**
   * Returns observers to use in place of these, which are those of the run's sinks. They get an observation once it is decided which of
   * its prompts are quoted.
   */
  before(observers: readonly ReplyObserver[]): readonly ReplyObserver[]
  /** Resolves when all is decided, and these observers have what they were to get. Never rejects. */
  decided(): Promise<void>
}

/** The run that prompts join. */
export interface JoinedRun {
  readonly execution: () => Execution
  /** Changes and stores the execution. Rejects if the bridge stops meanwhile. */
  readonly store: (change: Pick<Execution, 'quoted'>) => Promise<void>
}

/**
 * Creates the decision for one run. A prompt is quoted if no chat wrote it, and the chat shows all of what is started elsewhere. That is
 * stored, and the sinks show it as a message of the reply: once, also after a restart.
 */
export function createDeskPrompts(
  services: Pick<BridgeServices, 'config' | 'state' | 'routes' | 'runs' | 'onError'>,
  { execution, store }: JoinedRun,
): DeskPrompts {
  const { config, state, routes, runs, onError } = services
  const looked = new Set<string>()
  /** Resolves when the last prompt is decided. */
  let last: Promise<void> = Promise.resolve()
  /** Resolves when the observers have what waited for that. */
  let held: Promise<unknown> = last
  let gates: readonly Gate[] = []
  return { before, decided }

  function before(observers: readonly ReplyObserver[]): readonly ReplyObserver[] {
    gates = observers.map((observer) => createGate(observer, onError))
    return [observerOf(look), ...gates.map((gate) => observerOf(gate.pass))]
  }

  async function decided(): Promise<void> {
    await held
  }

  /** Begins to decide about the prompts that are new, in their order. */
  function look({ reply }: Observation): void {
    for (const promptID of reply.promptIDs.slice(1)) {
      if (looked.has(promptID) || !promptOf(reply, promptID)) continue
      looked.add(promptID)
      const { followed, quoted } = execution()
      if (quoted?.promptIDs.includes(promptID) || (followed && !quoted)) continue
      last = last.then(async () => await decide(promptID, reply)).catch((error) => onError(toError(error)))
      held = Promise.all([held, ...gates.map(async (gate) => await gate.holdUntil(last))])
    }
  }

  /** Stores that the chats quote a prompt, unless a chat wrote it. */
  async function decide(promptID: string, reply: Reply): Promise<void> {
    if (!(await isQuoting()) || (await isFromChat(promptID, reply))) return
    const { server, quoted } = execution()
    const origin = terminalOf(server, reply)
    await store({ quoted: { origin, promptIDs: [...(quoted?.promptIDs ?? []), promptID] } })
  }

  /** Whether the chat shows all of what is started elsewhere. Of a run that is followed, that was decided when it began. */
  async function isQuoting(): Promise<boolean> {
    const { prompt, server, followed } = execution()
    if (followed) return true
    const route = await state.withRetries(() => routes.routeOf(prompt))
    return (route?.follow ?? config.servers[server]?.follow) === 'all'
  }

  /** Whether a chat wrote the prompt. Where the server makes the ids of prompts, looks for a run with its text. */
  async function isFromChat(promptID: string, reply: Reply): Promise<boolean> {
    if ((await state.withRetries(() => routes.authorOf(promptID))) !== undefined) return true
    const { text = '' } = promptOf(reply, promptID) ?? {}
    const { id: ownID, sessionID } = execution()
    return runs.all().some((run) => {
      const { id, posted, sessionID: itsSessionID } = run.execution()
      if (!posted || id === ownID || itsSessionID !== sessionID || !isPromptOf(posted, promptID)) return false
      // A plugin of the server may have added to the text.
      return posted.messageID !== undefined || text.includes(posted.text?.trim() ?? '')
    })
  }
}
