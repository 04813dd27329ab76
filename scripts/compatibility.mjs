// Copies the results of `npm run test:matrix` and `npm run test:nightly` into docs/compatibility.md, between its markers.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

const page = new URL('../docs/compatibility.md', import.meta.url)
const folder = new URL('../packages/reply/test/drive/matrix/results/', import.meta.url)
const [start, end] = ['<!-- compatibility -->', '<!-- /compatibility -->']

if (!existsSync(folder)) {
  console.error('No results: first run `npm run test:matrix` or `npm run test:nightly` to completion.')
  process.exit(1)
}

const byVersion = (one, other) => one.version.localeCompare(other.version, 'en', { numeric: true })
const read = (name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8'))
const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
const results = names
  .filter((name) => !name.startsWith('nightly'))
  .map(read)
  .sort(byVersion)

const rows = results.map(({ version, scenarios, passed, leftOut, failed }) => {
  const names = Object.keys(failed).map((name) => `\`${name}\``)
  const missing = leftOut === 0 ? '' : ` (${leftOut} unsupported)`
  return `| ${version} | ${scenarios}${missing} | ${passed} | ${names.join(', ') || 'none'} |`
})
const table =
  rows.length === 0 ? [] : ['| OpenCode | scenarios | matches the server | differs |', '|---|---|---|---|', ...rows, '']

const nightly = [
  ['nightly-recorded.json', 'random fault plans on recordings'],
  ['nightly-live.json', 'random fault plans on a real server; every 20th kills and restarts it'],
  ['nightly-approvals.json', 'approvals within 50 ms after Stop, on 1.2.27, 1.14.41 and 1.18.33'],
]
const lines = nightly
  .filter(([name]) => names.includes(name))
  .map(([name, what]) => {
    const { runs, failed, firstSeed } = read(name)
    const seeds = firstSeed === undefined ? '' : ` (seeds from ${firstSeed.toLocaleString('en')})`
    return `| ${what}${seeds} | ${runs.toLocaleString('en')} | ${failed} |`
  })
const nights =
  lines.length === 0 ? [] : ['| by `npm run test:nightly` | runs | failed |', '|---|---|---|', ...lines, '']

const text = readFileSync(page, 'utf8')
const [from, to] = [text.indexOf(start), text.indexOf(end)]
if (from === -1 || to < from) {
  console.error(`docs/compatibility.md has no markers for the table: add ${start} and ${end} where it belongs.`)
  process.exit(1)
}
writeFileSync(page, `${text.slice(0, from + start.length)}\n${[...table, ...nights].join('\n')}${text.slice(to)}`)
console.log([...table, ...nights].join('\n'))
