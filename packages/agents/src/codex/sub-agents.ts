import type { LocalRun } from '@reply/core/source'
import type { Task } from './decode/agents.ts'

/** The sub-agents of the process at work. Each is a thread, whose messages come as those of other threads. */
export interface SubAgents {
  /** A run's call started them, or gave them something to do. */
  tasked(run: LocalRun, task: Task): void
  /** A thread begins a turn, which may be that of a sub-agent. */
  began(threadID: string): void
  /** The process is another one. */
  clear(): void
}

export function createSubAgents(runOf: (threadID: string) => LocalRun | undefined): SubAgents {
  const known = new Map<string, { readonly parentID: string; task: Task }>()
  return {
    tasked: (run, task) => {
      for (const id of task.agentIDs) {
        const agent = known.get(id)
        if (agent) agent.task = task
        else {
          known.set(id, { parentID: run.sessionID, task })
          began(id)
        }
      }
    },
    began,
    clear: () => known.clear(),
  }

  /** One that works again is another child. */
  function began(threadID: string): void {
    const agent = known.get(threadID)
    if (!agent || runOf(threadID)) return
    const { title, text } = agent.task
    runOf(agent.parentID)?.child({ sessionID: threadID, title, text: text || undefined })
  }
}
