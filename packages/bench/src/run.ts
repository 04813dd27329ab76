import type { Goal } from './goal.ts'

/** `run.js ID EFFORT` measures one goal in this process and prints the figure. */
const [id = '', effort] = process.argv.slice(2)
const goals = await goalsOf(id)
const goal = goals.find((candidate) => candidate.id === id)
if (!goal) throw new Error(`Unknown goal "${id}". Choose from: ${goals.map((candidate) => candidate.id).join(', ')}.`)
const value = await goal.measure(effort === 'quick' ? 'quick' : 'full')
process.stdout.write(`${value}\n`)
process.exit(0)

/**
 * Resolves with the goals among which the wanted one is. The resident memory of a bridge is measured, so its process
 * loads nothing of the other goals: they take 50 MB.
 */
async function goalsOf(wanted: string): Promise<readonly Goal[]> {
  if (wanted.startsWith('bridge.postgres.')) return (await import('./goals/postgres.ts')).postgresGoals
  if (wanted.startsWith('bridge.')) return (await import('./goals/bridge.ts')).bridgeGoals
  return (await import('./goals.ts')).goals
}
