import type { Clock } from '@reply/core'
import type { LocalRun } from '@reply/core/source'

/** Runs that an agent of version 1 begins by itself. The protocol doesn't tell when one begins or ends. */
export interface Wakes {
  /** Sets the reason of the session's next run. Replaces an earlier one. */
  explain(sessionID: string, reason: string): void
  /** Begins a run of an idle session, with the reason that was set, which is used once. */
  begin(sessionID: string): void
  /** Lets a run end only by a silence of `longestSilenceMs`, because the agent tells when one ends. */
  expectEnds(): void
  /** Ends the session's run, because the agent has ended a turn. Does nothing in a run that a prompt began. */
  end(sessionID: string): void
  /**
   * Restarts the time after which a silent run ends. Call it for each message of the session. Does nothing if it has no such
   * run.
   */
  keep(sessionID: string): void
  /** The session's run that the agent began. Undefined if there is none. */
  runOf(sessionID: string): LocalRun | undefined
  /** Resolves when the session has no such run. Undefined if it has none. */
  over(sessionID: string): Promise<void> | undefined
  /**
   * Ends the session's run that the agent began, because it was canceled. Does nothing if the agent tells when a turn ends,
   * because its message ends the run then.
   */
  abort(run: LocalRun): void
  /** Forgets all runs without ending them, and resolves what waits for their end. */
  close(): void
}

interface Wake {
  readonly run: LocalRun
  readonly stopTimer: () => void
  /** Called when it has ended. */
  readonly whenOver: (() => void)[]
}

/**
 * How long a run may be silent if the agent tells when a turn ends, in ms. A model answers or thinks within that time, and a
 * run with an open call or ask doesn't count as silent.
 */
export const longestSilenceMs = 600_000

/**
 * Creates the runs that an agent of version 1 begins by itself, and ends them: when the agent says so, else after a silence.
 * `wake` begins a run. `end` ends one, and `isLost` tells that the agent should have said so. `isBusy` returns whether the
 * session has an open call or ask.
 */
export function createWakes(
  wake: (sessionID: string, reason: string | undefined) => LocalRun,
  end: (run: LocalRun, isLost: boolean) => void,
  isBusy: (sessionID: string) => Promise<boolean>,
  { clock, quietMs }: { readonly clock: Clock; readonly quietMs: number },
): Wakes {
  const wakes = new Map<string, Wake>()
  const reasons = new Map<string, string>()
  /** Whether the agent tells when a turn ends, as those of Claude and Qwen do. */
  let marksEnds = false
  return {
    explain: (sessionID, reason) => void reasons.set(sessionID, reason),
    begin,
    expectEnds: () => {
      marksEnds = true
    },
    end: (sessionID) => {
      marksEnds = true
      endWake(sessionID)
    },
    keep: (sessionID) => {
      const woken = wakes.get(sessionID)
      if (woken) armTimer(sessionID, woken)
    },
    runOf: (sessionID) => openWake(sessionID)?.run,
    over: (sessionID) => {
      const woken = openWake(sessionID)
      return woken && new Promise((resolve) => woken.whenOver.push(resolve))
    },
    abort: ({ sessionID }) => {
      if (!marksEnds) endWake(sessionID)
    },
    close: () => {
      for (const { stopTimer, whenOver } of wakes.values()) {
        stopTimer()
        for (const resolve of whenOver) resolve()
      }
      wakes.clear()
    },
  }

  /** Returns the session's wake if its run is open. */
  function openWake(sessionID: string): Wake | undefined {
    const woken = wakes.get(sessionID)
    return woken?.run.isOpen() ? woken : undefined
  }

  function begin(sessionID: string): void {
    const run = wake(sessionID, reasons.get(sessionID))
    reasons.delete(sessionID)
    armTimer(sessionID, { run, stopTimer: () => {}, whenOver: [] })
  }

  /** Arms the timer of a wake again, or removes the wake if its run has ended otherwise. */
  function armTimer(sessionID: string, { run, stopTimer, whenOver }: Wake): void {
    stopTimer()
    if (!run.isOpen()) {
      wakes.delete(sessionID)
      for (const resolve of whenOver) resolve()
      return
    }
    const silenceMs = marksEnds ? Math.max(quietMs, longestSilenceMs) : quietMs
    const stop = clock.after(silenceMs, () => void endQuiet(sessionID, run))
    wakes.set(sessionID, { run, stopTimer: stop, whenOver })
  }

  /**
   * Ends the run after its silence, or waits again while a call or an ask is open. Does nothing if the session went on
   * meanwhile.
   */
  async function endQuiet(sessionID: string, run: LocalRun): Promise<void> {
    const before = wakes.get(sessionID)
    const isWorking = await isBusy(sessionID)
    // It went on meanwhile.
    if (before?.run !== run || wakes.get(sessionID) !== before) return
    if (isWorking) armTimer(sessionID, before)
    else endWake(sessionID, marksEnds)
  }

  /** Removes the session's wake and ends its run. Does nothing if it has none. */
  function endWake(sessionID: string, isLost = false): void {
    const woken = wakes.get(sessionID)
    if (!woken) return
    wakes.delete(sessionID)
    woken.stopTimer()
    end(woken.run, isLost)
    for (const resolve of woken.whenOver) resolve()
  }
}
