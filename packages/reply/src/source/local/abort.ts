import type { Clock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { LocalAgentOptions } from './agent-options.ts'
import { failureFrom } from './input.ts'
import type { OwnedRun } from './run.ts'

/** How long after an abort a run that has not ended is killed, in ms. */
const killAfterMs = 10_000

/** Aborts runs of one local agent. */
export interface Aborter {
  /**
   * Closes the runs' asks and asks the agent to cancel the open runs. A run that has not ended `killAfterMs` later is
   * killed and fails, because its session would take no more prompts. Rejects if the agent rejects.
   */
  abort(runs: readonly OwnedRun[], aborted: SessionRef): Promise<void>
  /** Stops the timer that would kill the run. Call it when the run has ended. */
  stopKillTimer(run: OwnedRun): void
}

/** Creates an aborter for the runs of one local agent, with no kill timer armed yet. */
export function createAborter(agent: Pick<LocalAgentOptions, 'name' | 'cancel' | 'kill'>, clock: Clock): Aborter {
  /** The functions that stop the timers of aborted runs. */
  const killTimers = new Map<OwnedRun, () => void>()
  return { abort, stopKillTimer }

  /** Closes the runs' asks, arms their kill timers, and asks the agent to cancel those that are open. */
  async function abort(runs: readonly OwnedRun[], aborted: SessionRef): Promise<void> {
    for (const run of runs) {
      run.cancelAsks()
      // The answer to an ask may have ended the run.
      if (run.isOpen()) armKillTimer(run)
    }
    await Promise.all(runs.filter(({ isOpen }) => isOpen()).map(async (run) => await agent.cancel(run, aborted)))
  }

  /** Arms a timer that kills the run's process and ends the run as failed. Does nothing if it is armed. */
  function armKillTimer(run: OwnedRun): void {
    if (killTimers.has(run)) return
    const stop = clock.after(killAfterMs, () => {
      agent.kill?.(run)
      const message = `${agent.name} did not stop the run within ${killAfterMs} ms, so the run failed.`
      run.end({ type: 'failed', error: failureFrom(new ReplyError('not-stopped', message)) })
    })
    killTimers.set(run, stop)
  }

  /** Stops the run's kill timer. Does nothing if none is armed. */
  function stopKillTimer(run: OwnedRun): void {
    killTimers.get(run)?.()
    killTimers.delete(run)
  }
}
