import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { machine } from './machine.ts'

const readme = fileURLToPath(new URL('../README.md', import.meta.url))
const begin = '<!-- table: npm run bench -- --readme -->'
const end = '<!-- /table -->'

/** Replaces the table and the machine between the two markers. */
export function writeReadme(table: string): void {
  const text = readFileSync(readme, 'utf8')
  const [start, stop] = [text.indexOf(begin), text.indexOf(end)]
  if (start === -1 || stop === -1) throw new Error(`${readme} lacks the markers "${begin}" and "${end}".`)
  const day = new Date().toISOString().slice(0, 10)
  const measured = `${begin}\n\n${table}\n\nMeasured on ${day}: ${machine()}.\n\n`
  writeFileSync(readme, `${text.slice(0, start)}${measured}${text.slice(stop)}`)
}
