import type { LocalEnding, LocalRun } from '@reply/core/source'
import type { DecodedState } from './decode/update.ts'

/**
 * Finds the run of a session's work in version 2 of the protocol. The agent reports the states of a session: `running`
 * begins work, and `idle` ends it. Whose work it is, only the position of the user's message tells, which the agent sends
 * with an id. The response to the prompt has the same id, and may come later: until then the updates after the message are
 * held. Work that no prompt began is a run of the agent's own.
 */
export interface Turns {
  /** Adds a prompt that waits for the agent. Call it before you send the prompt. */
  expect(run: LocalRun): void
  /**
   * The agent has inserted the prompt, with this id. Applies the updates that were held for it. If the agent didn't send the
   * message before, the run gets the work that the session does now, or does next.
   */
  accept(run: LocalRun, messageID: string | undefined): void
  /** Removes a prompt that the agent has refused, and applies the updates that were held for it. The caller ends the run. */
  refuse(run: LocalRun): void
  /** The session still does the work of a run that began in an earlier process. */
  resume(run: LocalRun): void
  /**
   * Holds the update, and returns true, if the session has an update that waits, or if this is a message of the user that
   * may be a prompt without a response. `messageID` is undefined for updates that are no messages of the user.
   */
  hold(sessionID: string, params: unknown, messageID: string | undefined): boolean
  /** The session whose updates are held. Undefined if there is none. */
  holding(): string | undefined
  /** Resolves when no update of the session waits. Undefined if none does. Await it before you handle a request of the agent. */
  decided(sessionID: string): Promise<void> | undefined
  /** The prompt with this id is at this point. Ends the run of the current work, if that is another one. Ignores other ids. */
  insert(sessionID: string, messageID: string): void
  /** Begins or ends the work of a session. */
  update(sessionID: string, state: DecodedState): void
  /** Begins a run of the agent's own if the session does work that no prompt began. Call it before output and asks. */
  claim(sessionID: string): void
  /** The run of the session's work, or of its next work. Undefined if it is unknown whose the work is, or if there is none. */
  runOf(sessionID: string): LocalRun | undefined
}

interface Held {
  readonly params: unknown
  readonly messageID: string | undefined
}

/** The work of one session. */
interface Work {
  /** The runs whose prompts have no response, oldest first. */
  readonly waiting: Set<LocalRun>
  /** The runs with a response whose messages are held, by the ids of the messages. */
  readonly accepted: Map<string, LocalRun>
  readonly held: Held[]
  /** Called when nothing is held. */
  readonly whenDecided: (() => void)[]
  isWorking: boolean
  /** The run of the work, or of the next one if the session is idle. Undefined while no prompt and no output has begun it. */
  run: LocalRun | undefined
}

/**
 * `wake` begins a run without a prompt. `onBegin` is called when the work of a run begins. `end` ends a run. `apply` applies
 * an update that was held.
 */
export function createTurns(
  wake: (sessionID: string) => LocalRun,
  onBegin: (sessionID: string) => void,
  end: (run: LocalRun, ending: LocalEnding) => void,
  apply: (params: unknown) => void,
): Turns {
  const works = new Map<string, Work>()
  return {
    expect: (run) => void workOf(run.sessionID).waiting.add(run),
    accept,
    refuse: (run) => {
      const work = workOf(run.sessionID)
      work.waiting.delete(run)
      release(work)
    },
    resume: (run) => {
      const work = workOf(run.sessionID)
      work.run = run
      work.isWorking = true
    },
    hold,
    holding: () => [...works].find(([, { held }]) => held.length > 0)?.[0],
    decided: (sessionID) => {
      const { held, whenDecided } = workOf(sessionID)
      return held.length === 0 ? undefined : new Promise((resolve) => whenDecided.push(resolve))
    },
    insert: (sessionID, messageID) => {
      const work = workOf(sessionID)
      const run = work.accepted.get(messageID)
      work.accepted.delete(messageID)
      if (run) insertRun(work, run)
    },
    update: (sessionID, state) => (state.type === 'running' ? begin(sessionID) : finish(sessionID, state)),
    claim,
    runOf: (sessionID) => works.get(sessionID)?.run,
  }

  function accept(run: LocalRun, messageID: string | undefined): void {
    const work = workOf(run.sessionID)
    work.waiting.delete(run)
    const isHeld = messageID !== undefined && work.held.some((held) => held.messageID === messageID)
    if (isHeld) work.accepted.set(messageID, run)
    release(work)
    if (!isHeld) insertRun(work, run)
  }

  function hold(sessionID: string, params: unknown, messageID: string | undefined): boolean {
    const { held, waiting } = workOf(sessionID)
    if (held.length === 0 && (messageID === undefined || waiting.size === 0)) return false
    held.push({ params, messageID })
    return true
  }

  /** Applies what was held, up to the next message of the user that may be a prompt without a response. */
  function release({ held, waiting, accepted, whenDecided }: Work): void {
    for (let next = held[0]; next; next = held[0]) {
      const { params, messageID } = next
      if (messageID !== undefined && !accepted.has(messageID) && waiting.size > 0) return
      held.shift()
      apply(params)
    }
    for (const decide of whenDecided.splice(0)) decide()
  }

  /** Gives the current or the next work to this run. The agent took its prompt into the work of another run, if there is one. */
  function insertRun(work: Work, run: LocalRun): void {
    if (work.run?.isOpen()) end(work.run, { type: 'completed', finish: 'tool-calls' })
    work.run = run
    onBegin(run.sessionID)
  }

  function begin(sessionID: string): void {
    const work = workOf(sessionID)
    if (work.isWorking) return
    work.isWorking = true
    if (work.run?.isOpen()) return
    work.run = undefined
    // Codex's agent begins to work on a prompt before it sends the message.
    if (work.waiting.size === 0) claim(sessionID)
  }

  function claim(sessionID: string): void {
    const work = workOf(sessionID)
    if (!work.isWorking || work.run) return
    onBegin(sessionID)
    work.run = wake(sessionID)
  }

  /** An idle session also reports what it runs in the background. */
  function finish(sessionID: string, { ending, usage }: Extract<DecodedState, { readonly type: 'idle' }>): void {
    const work = workOf(sessionID)
    if (!work.isWorking) return
    // Work without output is only shown if it has failed.
    if (ending.type === 'failed') claim(sessionID)
    const { run } = work
    work.isWorking = false
    work.run = undefined
    if (!run) return
    run.write(...usage)
    end(run, ending)
  }

  function workOf(sessionID: string): Work {
    const known = works.get(sessionID)
    if (known) return known
    const work: Work = {
      waiting: new Set(),
      accepted: new Map(),
      held: [],
      whenDecided: [],
      isWorking: false,
      run: undefined,
    }
    works.set(sessionID, work)
    return work
  }
}
