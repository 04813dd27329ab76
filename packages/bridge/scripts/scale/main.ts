// Proves that many bridges work at once on one state. Prints a table, and exits with 1 if a goal is missed.
//   npm run test:scale -- [--members 4] [--chats 2000] [--rate 20] [--seed 1] [--kills 25] [--stops 25] [--crashes 5]
//                         [--only calm|deploy|faults]
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { hasPostgres, needsPostgres } from '@reply/testing/internal'
import { isMissed, type PartName, type PartResult, partNames, playPart } from './parts.ts'

const defaults = { members: 4, chats: 2000, rate: 20, seed: 1, kills: 25, stops: 25, crashes: 5 }
const usage = `Usage: npm run test:scale -- ${Object.entries(defaults)
  .map(([name, value]) => `[--${name} ${value}]`)
  .join(' ')} [--only ${partNames.join('|')}]\n`

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
const results: PartResult[] = []
for (const part of options.parts) {
  say(`${part}: ${JSON.stringify(options.numbers)}`)
  const result = await playPart(part, { ...options.numbers, signal, onProgress: (line) => say(`${part}: ${line}`) })
  if (result.logs !== undefined) writeFileSync(join(result.logs, 'wrong.txt'), result.wrong.join('\n'))
  results.push(result)
}
process.stdout.write(`${tableOf(results)}\n`)
for (const { part, wrong, logs } of results) {
  if (logs !== undefined) process.stdout.write(`\n${part}: logs are in ${logs}\n`)
  for (const line of wrong) process.stdout.write(`- ${line.split('\n')[0]?.slice(0, 500)}\n`)
}
process.exit(results.some(({ logs }) => logs !== undefined) ? 1 : 0)

/** Reads the arguments. Undefined if they are invalid. */
function readOptions(): { readonly numbers: typeof defaults; readonly parts: readonly PartName[] } | undefined {
  try {
    const { values } = parseArgs({
      options: {
        ...Object.fromEntries(Object.keys(defaults).map((name) => [name, { type: 'string' } as const])),
        only: { type: 'string' },
      },
    })
    const { only, ...given } = values
    const numbers = { ...defaults }
    for (const [name, value] of Object.entries(given)) Object.assign(numbers, { [name]: Number(value) })
    const isValid = Object.values(numbers).every((value) => Number.isInteger(value) && value >= 0)
    const parts = partNames.filter((part) => only === undefined || only === part)
    return isValid && numbers.members > 0 && parts.length > 0 ? { numbers, parts } : undefined
  } catch {
    return undefined
  }
}

function say(line: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
}

/** Returns all figures as a table in Markdown. */
function tableOf(all: readonly PartResult[]): string {
  const rows = all.flatMap(({ part, figures }) =>
    figures.map((figure) => [
      ...[part, figure.name, Number(figure.value.toFixed(2)), figure.most === undefined ? '' : `≤ ${figure.most}`],
      isMissed(figure) ? 'missed' : '',
    ]),
  )
  const head = ['part', 'figure', 'value', 'goal', '']
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}
