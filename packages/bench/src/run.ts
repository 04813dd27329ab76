import type { Effort } from './goal.ts'
import { goals } from './goals.ts'

/** `run.js ID EFFORT` measures one goal in this process and prints the figure: what ran before would have shaped the compiled code. */
const [id, effort] = process.argv.slice(2)
const goal = goals.find((candidate) => candidate.id === id)
if (!goal) throw new Error(`There is no goal "${id}". There are: ${goals.map((candidate) => candidate.id).join(', ')}.`)
const value = await goal.measure((effort ?? 'full') as Effort)
process.stdout.write(`${JSON.stringify({ id: goal.id, value })}\n`)
