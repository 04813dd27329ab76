// Puts what `npm run test:matrix` wrote down into the README's table, between its markers.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

const readme = new URL('../packages/reply/README.md', import.meta.url)
const folder = new URL('../packages/reply/test/drive/matrix/results/', import.meta.url)
const [start, end] = ['<!-- compatibility -->', '<!-- /compatibility -->']

if (!existsSync(folder)) {
  console.error('There are no results: run `npm run test:matrix` to its end first.')
  process.exit(1)
}

const byVersion = (one, other) => one.version.localeCompare(other.version, 'en', { numeric: true })
const results = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')))
  .sort(byVersion)

const rows = results.map(({ version, scenarios, passed, leftOut, failed }) => {
  const names = Object.keys(failed).map((name) => `\`${name}\``)
  const missing = leftOut === 0 ? '' : ` (${leftOut} it can't do)`
  return `| ${version} | ${scenarios}${missing} | ${passed} | ${names.join(', ') || 'none'} |`
})
const table = ['| OpenCode | scenarios | as the server says | otherwise |', '|---|---|---|---|', ...rows].join('\n')

const text = readFileSync(readme, 'utf8')
const [from, to] = [text.indexOf(start), text.indexOf(end)]
if (from === -1 || to < from) {
  console.error(`packages/reply/README.md has no place for the table: put ${start} and ${end} where it belongs.`)
  process.exit(1)
}
writeFileSync(readme, `${text.slice(0, from + start.length)}\n${table}\n${text.slice(to)}`)
console.log(table)
