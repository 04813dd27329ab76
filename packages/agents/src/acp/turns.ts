import type { LocalEnding, LocalRun } from '@reply/core/source'
import type { DecodedState } from './decode/update.ts'

/**
 * The work of sessions in version 2 of the protocol. The agent accepts a prompt, and then reports the states of its session:
 * `running` begins work, and `idle` ends it. Work that no prompt began is a run of the agent's own.
 */
export interface Turns {
  /** Call it before you send the prompt of a run. */
  expect(run: LocalRun): void
  /** The agent has accepted the prompt. The run ends with the work that the session does now, or does next. */
  accept(run: LocalRun): void
  /** The agent has refused the prompt. Ends the run. */
  refuse(run: LocalRun, ending: LocalEnding): void
  /** The session still does the work of a run that began in an earlier process. */
  resume(run: LocalRun): void
  /** Begins or ends the work of a session. */
  update(sessionID: string, state: DecodedState): void
}

interface Work {
  /** The runs whose prompts the agent has not accepted yet, oldest first. */
  readonly waiting: readonly LocalRun[]
  /** The run of the work. While it is undefined and a prompt waits, output goes to the run of that prompt. */
  readonly run?: LocalRun | undefined
  readonly isWorking: boolean
}

const idle: Work = { waiting: [], isWorking: false }

/**
 * `wake` begins a run without a prompt. `onBegin` is called when the work of a run begins, and `end` ends a run.
 */
export function createTurns(
  wake: (sessionID: string) => LocalRun,
  onBegin: (sessionID: string) => void,
  end: (run: LocalRun, ending: LocalEnding) => void,
): Turns {
  const works = new Map<string, Work>()
  return {
    expect: (run) => change(run.sessionID, (work) => ({ ...work, waiting: [...work.waiting, run] })),
    accept: (run) => {
      const before = workOf(run.sessionID)
      // The agent took the prompt into the work that it does.
      if (before.isWorking && before.run) end(before.run, { type: 'completed', finish: 'tool-calls' })
      change(run.sessionID, (work) => ({ ...withoutWaiting(work, run), run }))
      onBegin(run.sessionID)
    },
    refuse: (run, ending) => {
      change(run.sessionID, (work) => withoutWaiting(work, run))
      end(run, ending)
    },
    resume: (run) => change(run.sessionID, ({ waiting }) => ({ waiting, run, isWorking: true })),
    update: (sessionID, state) => (state.type === 'running' ? begin(sessionID) : finish(sessionID, state)),
  }

  function begin(sessionID: string): void {
    const { isWorking, run, waiting } = workOf(sessionID)
    if (isWorking) return
    change(sessionID, (work) => ({ ...work, isWorking: true }))
    // Codex's agent accepts a prompt after it has begun to work on it.
    if (run?.isOpen() || waiting.length > 0) return
    onBegin(sessionID)
    const woken = wake(sessionID)
    change(sessionID, (work) => ({ ...work, run: woken }))
  }

  /** An idle session also reports what it runs in the background. */
  function finish(sessionID: string, { ending, usage }: Extract<DecodedState, { readonly type: 'idle' }>): void {
    const { isWorking, run } = workOf(sessionID)
    if (!isWorking) return
    change(sessionID, ({ waiting }) => ({ waiting, isWorking: false }))
    if (!run) return
    run.write(...usage)
    end(run, ending)
  }

  function workOf(sessionID: string): Work {
    return works.get(sessionID) ?? idle
  }

  function change(sessionID: string, next: (work: Work) => Work): void {
    const work = next(workOf(sessionID))
    if (work.waiting.length === 0 && !work.isWorking && !work.run) works.delete(sessionID)
    else works.set(sessionID, work)
  }
}

function withoutWaiting(work: Work, run: LocalRun): Work {
  return { ...work, waiting: work.waiting.filter((other) => other !== run) }
}
