import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { arch, cpus, loadavg, platform, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { boundText, type Effort, type Goal, jsonRow, meetsBound } from './goal.ts'
import { goals } from './goals.ts'

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

/**
 * Measures the wanted goals, prints the table, and writes the files that the options name. Sets exit code 2 if no goal
 * matches, and 1, without writing a file, if measuring one fails.
 */
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
  const { possible, omissions } = omitLacking(wanted)
  process.stderr.write(omissions)
  for (const goal of possible) {
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
  process.stdout.write(`${toTable(measured)}\n\n${omissions}${machine()}\n`)
  // An incomplete table would look complete.
  if (process.exitCode === 1) return
  const rows = measured.map(({ goal, value }) => jsonRow(goal, value))
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(rows, undefined, 2)}\n`)
  if (options.write) writeFigures(toTable(measured), omissions)
}

/**
 * Returns the goals that this machine can measure, and a line for each thing that it lacks for the others, with their ids. Empty
 * if it lacks nothing.
 */
function omitLacking(wanted: readonly Goal[]): { readonly possible: readonly Goal[]; readonly omissions: string } {
  const idsByReason = new Map<string, string[]>()
  const possible = wanted.filter(({ id, lacking }) => {
    const reason = lacking?.()
    if (reason === undefined) return true
    idsByReason.set(reason, [...(idsByReason.get(reason) ?? []), id])
    return false
  })
  const lines = [...idsByReason].map(([reason, ids]) => `Without ${ids.join(', ')}: ${reason}\n`)
  return { possible, omissions: lines.join('') }
}

/**
 * Measures a goal in a process of its own, so that no pipeline runs on code optimized for another. Rejects if the
 * process fails, or takes longer than `deadlineMs`, which kills it.
 */
function measure({ id }: Goal, effort: Effort): Promise<number> {
  const script = fileURLToPath(new URL('./run.js', import.meta.url))
  // As the bridge's Dockerfile and its systemd unit start it.
  const limit = id.startsWith('bridge.') ? ['--max-old-space-size=1024'] : []
  const args = ['--expose-gc', ...limit, script, id, effort]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, deadlineMs)
  const printed: Buffer[] = []
  child.stdout.on('data', (bytes: Buffer) => printed.push(bytes))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(late)
      if (isLate) reject(new Error(`Measuring ${id} was stopped after ${deadlineMs} ms.`))
      else if (code === 0) resolve(Number(Buffer.concat(printed).toString()))
      else reject(new Error(`Measuring ${id} failed with ${signal ?? `exit code ${code}`}.`))
    })
  })
}

interface Measured {
  readonly goal: Goal
  readonly value: number
}

/** Returns a Markdown table, aligned so that its source is readable too. */
function toTable(measured: readonly Measured[]): string {
  const head = ['id', 'what', 'measured', 'goal', 'holds']
  const lines = measured.map(({ goal, value }) => [
    goal.id,
    goal.what,
    `${rounded(value)} ${goal.unit}`,
    boundText(goal.bound),
    verdict(goal, value),
  ])
  const widths = head.map((title, column) => Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)))
  const rule = widths.map((width) => '-'.repeat(width))
  return [head, rule, ...lines].map((line) => tableLine(line, widths)).join('\n')
}

/** A line of a Markdown table, with each cell padded to its column's width. */
function tableLine(cells: readonly string[], widths: readonly number[]): string {
  return `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
}

/** "yes" if a figure is within its goal's bound, else a bold "no". */
function verdict({ bound }: Goal, value: number): string {
  return meetsBound(value, bound) ? 'yes' : '**no**'
}

/** A figure with three digits, or all of a larger integer part. */
function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

const page = fileURLToPath(new URL('../../../docs/benchmarks.md', import.meta.url))
const beginMarker = '<!-- figures -->'
const endMarker = '<!-- /figures -->'

/**
 * Replaces the table, the rows that it lacks and the machine between the two markers of `docs/benchmarks.md`. Throws if it lacks
 * the markers.
 */
function writeFigures(table: string, omissions: string): void {
  const text = readFileSync(page, 'utf8')
  const start = text.indexOf(beginMarker)
  const stop = text.indexOf(endMarker)
  if (start === -1 || stop === -1) throw new Error(`${page} lacks the markers "${beginMarker}" and "${endMarker}".`)
  const day = new Date().toISOString().slice(0, 10)
  const measured = `${beginMarker}\n\n${table}\n\n${omissions}Measured on ${day}: ${machine()}.\n\n`
  writeFileSync(page, `${text.slice(0, start)}${measured}${text.slice(stop)}`)
}

/**
 * The machine's kind, without its name, the versions of Node and V8, and its load over 15 minutes, as text. The bench
 * itself is a load of about 1.
 */
function machine(): string {
  const [first] = cpus()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  const model = first?.model.trim() || 'unknown processor'
  const load = loadavg()[2]?.toFixed(1)
  return `${cpus().length} cores (${model}), ${gigabytes} GB, ${platform()} ${arch()}, Node ${process.versions.node}, V8 ${process.versions.v8}, load average ${load}`
}
