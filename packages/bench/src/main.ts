import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Effort, type Goal, rowOf } from './goal.ts'
import { goals } from './goals.ts'
import { machine } from './machine.ts'
import { type Measured, toTable } from './table.ts'
import { writeFigures } from './write-figures.ts'

/** Timeout of a goal, in ms. Every goal takes less than half of it. */
const deadlineMs = 240_000

const help = `npm run bench -- [--quick] [--only ID]… [--json FILE] [--write]

  --quick       fewer rounds: for a glance while working
  --only ID     only the goals whose id begins with ID, as "bytes.16k" or "heap"; repeatable
  --json FILE   writes rows { id, value, unit, goal, holds }
  --write       puts the table into docs/benchmarks.md
`

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    json: { type: 'string' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (options.help) process.stdout.write(help)
else await bench()

async function bench(): Promise<void> {
  const wanted = goals.filter(
    ({ id }) => options.only.length === 0 || options.only.some((start) => id.startsWith(start)),
  )
  if (wanted.length === 0) {
    const ids = goals.map(({ id }) => id).join(', ')
    process.stderr.write(`No goal id begins with ${options.only.join(', ')}. Choose from: ${ids}\n`)
    process.exitCode = 2
    return
  }
  const measured: Measured[] = []
  for (const goal of wanted) {
    process.stderr.write(`${goal.id} … `)
    try {
      const value = await measure(goal, options.quick ? 'quick' : 'full')
      process.stderr.write(`${value.toPrecision(3)} ${goal.unit}\n`)
      measured.push({ goal, value })
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
      process.exitCode = 1
    }
  }
  process.stdout.write(`${toTable(measured)}\n\n${machine()}\n`)
  // An incomplete table would look complete.
  if (process.exitCode === 1) return
  const rows = measured.map(({ goal, value }) => rowOf(goal, value))
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(rows, undefined, 2)}\n`)
  if (options.write) writeFigures(toTable(measured))
}

/** Runs each goal in its own process, so that no pipeline runs on code optimized for another. */
function measure({ id }: Goal, effort: Effort): Promise<number> {
  const script = fileURLToPath(new URL('./run.js', import.meta.url))
  // As the bridge's Dockerfile and its systemd unit start it.
  const limit = id.startsWith('bridge.') ? ['--max-old-space-size=1024'] : []
  const args = ['--expose-gc', ...limit, script, id, effort]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const late = setTimeout(() => child.kill('SIGKILL'), deadlineMs)
  const printed: Buffer[] = []
  child.stdout.on('data', (bytes: Buffer) => printed.push(bytes))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(late)
      if (signal !== null) return reject(new Error(`Measuring ${id} was stopped after ${deadlineMs} ms.`))
      if (code === 0) resolve(Number(Buffer.concat(printed).toString()))
      else reject(new Error(`Measuring ${id} failed with exit code ${code}.`))
    })
  })
}
