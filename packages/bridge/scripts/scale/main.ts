// Proves that many bridges work at once on one state. Prints a table, and exits with 1 if a goal is missed.
//   npm run test:scale -- [--members 4] [--chats 2000] [--rate 20] [--seed 1] [--kills 25] [--stops 25] [--crashes 5]
//                         [--only calm|deploy|faults] [--beside main~40] [--write]
// --beside: half of the bridges run that version, or all until they are restarted. It is built in a temporary folder.
// --write: replaces the figures in docs/scale.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { hasPostgres, needsPostgres } from '@reply/testing/internal'
import { type PartName, type PartResult, partNames, playPart } from './parts.ts'
import { reportOf, withReport } from './report.ts'
import { buildVersion, commitOf } from './version.ts'

const defaults = { members: 4, chats: 2000, rate: 20, seed: 1, kills: 25, stops: 25, crashes: 5 }
const usage = `Usage: npm run test:scale -- ${Object.entries(defaults)
  .map(([name, value]) => `[--${name} ${value}]`)
  .join(' ')} [--only ${partNames.join('|')}] [--beside <commit>] [--write]\n`

const options = readOptions()
if (options === undefined) {
  process.stderr.write(usage)
  process.exit(2)
}
if (!hasPostgres()) {
  process.stderr.write(`This needs PostgreSQL: ${needsPostgres}.\n`)
  process.exit(2)
}
const interrupted = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupted.abort())
const { signal } = interrupted
const { numbers, beside, isWritten, commit } = options
const otherCommand = beside === undefined ? undefined : buildVersion(beside)
const [loadBefore = 0] = loadavg()
const results: PartResult[] = []
for (const part of options.parts) {
  say(`${part}: ${JSON.stringify(numbers)}`)
  const onProgress = (line: string): void => say(`${part}: ${line}`)
  const result = await playPart(part, { ...numbers, otherCommand, signal, onProgress })
  if (result.logs !== undefined) writeFileSync(join(result.logs, 'wrong.txt'), result.wrong.join('\n'))
  results.push(result)
}
const report = reportOf({ results, circumstances: circumstances() })
process.stdout.write(`${report}\n`)
if (isWritten) {
  const page = fileURLToPath(new URL('../../../../docs/scale.md', import.meta.url))
  writeFileSync(page, withReport(readFileSync(page, 'utf8'), report))
}
for (const { part, wrong, logs } of results) {
  if (logs !== undefined) process.stdout.write(`\n${part}: logs are in ${logs}\n`)
  for (const line of wrong) process.stdout.write(`- ${line.split('\n')[0]?.slice(0, 500)}\n`)
}
process.exit(results.some(({ logs }) => logs !== undefined) ? 1 : 0)

interface Options {
  readonly numbers: typeof defaults
  readonly parts: readonly PartName[]
  /** The commit of this version. */
  readonly commit: string
  /** The commit of the other version. */
  readonly beside: string | undefined
  readonly isWritten: boolean
}

/** Reads the arguments. Undefined if they are invalid. */
function readOptions(): Options | undefined {
  try {
    const { values } = parseArgs({
      options: {
        ...Object.fromEntries(Object.keys(defaults).map((name) => [name, { type: 'string' } as const])),
        ...{ only: { type: 'string' }, beside: { type: 'string' }, write: { type: 'boolean' } },
      },
    })
    const { only, beside, write = false, ...given } = values
    const numbers = { ...defaults }
    for (const [name, value] of Object.entries(given)) Object.assign(numbers, { [name]: Number(value) })
    const isValid = Object.values(numbers).every((value) => Number.isInteger(value) && value >= 0)
    const parts = partNames.filter((part) => only === undefined || only === part)
    if (!isValid || numbers.members === 0 || parts.length === 0) return undefined
    return {
      ...{ numbers, parts, commit: commitOf('HEAD'), isWritten: write },
      beside: beside === undefined ? undefined : commitOf(String(beside)),
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    return undefined
  }
}

/** Says what was measured on what. */
function circumstances(): string {
  const { members, chats, rate, seed } = numbers
  const [versions] = results.map(({ postgres }) => postgres)
  const others = beside === undefined ? '' : ` beside commit ${beside}`
  return [
    `Measured on ${new Date().toISOString().slice(0, 10)} at commit ${commit}${others}: ${members} bridges, ${chats.toLocaleString('en')} chats, ${rate} messages a second, seed ${seed}.`,
    `On ${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.versions.node}, PostgreSQL ${versions}, load average ${loadBefore.toFixed(1)} before the start.`,
    "The bridges shared these cores with PostgreSQL, the platforms, the agents' servers and all people.",
  ].join(' ')
}

function say(line: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
}
