import type { LocalHistory, LocalRun } from '@reply/core/source'
import type { Dialect } from './dialect.ts'
import { createPastRuns } from './past-runs.ts'
import { createSessionStore } from './session-store.ts'
import { createSubagents } from './subagents.ts'

/**
 * Returns a function that adds the runs of a loaded session to `history`, from the updates that repeated the session, and
 * aborts the sub-agents that have not ended in them. `agent` is the agent's name. Malformed updates are skipped. `runOf`
 * returns the run of a sub-agent, or undefined if it has none.
 */
export function createHistoryReader(dialectOf: () => Dialect, runOf: (sessionID: string) => LocalRun | undefined) {
  return (sessionID: string, updates: readonly unknown[], history: LocalHistory, agent: string | undefined): void => {
    const sessions = createSessionStore(dialectOf, () => undefined)
    const replay = createPastRuns(
      agent,
      history,
      () => sessions.beginRun(sessionID),
      (run, ending) => {
        subagents.leaveBehind(run)
        run.end(ending)
      },
    )
    const writtenRun = (id: string): LocalRun | undefined => (id === sessionID ? replay.run() : runOf(id))
    const subagents = createSubagents(writtenRun, (id) => id === sessionID, sessions)
    for (const params of updates) {
      const updated = sessions.update(params, () => false)
      if (!updated) continue
      const { decoded, sessionID: id } = updated
      if (id === sessionID) replay.take(decoded)
      if (decoded.message) subagents.receive(decoded.message)
      else if (decoded.outputs || decoded.subagent) subagents.begin(id)
      if (decoded.subagent) subagents.report(id, decoded.subagent)
      if (decoded.outputs) writtenRun(id)?.write(...decoded.outputs)
    }
    replay.finish()
    subagents.abortBelow(sessionID)
  }
}
