import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { machine } from './machine.ts'

const page = fileURLToPath(new URL('../../../docs/benchmarks.md', import.meta.url))
const begin = '<!-- figures -->'
const end = '<!-- /figures -->'

/** Replaces the table and the machine between the two markers of `docs/benchmarks.md`. */
export function writeFigures(table: string): void {
  const text = readFileSync(page, 'utf8')
  const [start, stop] = [text.indexOf(begin), text.indexOf(end)]
  if (start === -1 || stop === -1) throw new Error(`${page} lacks the markers "${begin}" and "${end}".`)
  const day = new Date().toISOString().slice(0, 10)
  const measured = `${begin}\n\n${table}\n\nMeasured on ${day}: ${machine()}.\n\n`
  writeFileSync(page, `${text.slice(0, start)}${measured}${text.slice(stop)}`)
}
