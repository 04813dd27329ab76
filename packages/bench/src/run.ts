import { goals } from './goals.ts'

/** `run.js ID EFFORT` measures one goal in this process and prints the figure. */
const [id, effort] = process.argv.slice(2)
const goal = goals.find((candidate) => candidate.id === id)
if (!goal) throw new Error(`Unknown goal "${id}". Choose from: ${goals.map((candidate) => candidate.id).join(', ')}.`)
const value = await goal.measure(effort === 'quick' ? 'quick' : 'full')
process.stdout.write(`${value}\n`)
process.exit(0)
