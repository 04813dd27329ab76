// Copies the results of `npm run test:matrix` and `npm run test:nightly` into docs/compatibility.md, each table between
// its markers. What was not played keeps its row.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

const page = new URL('../docs/compatibility.md', import.meta.url)
const matrix = new URL('../packages/reply/test/drive/matrix/', import.meta.url)
const results = new URL('results/', matrix)

const before = readFileSync(page, 'utf8')
const names = existsSync(results) ? readdirSync(results).filter((name) => name.endsWith('.json')) : []
const read = (name) => JSON.parse(readFileSync(new URL(name, results), 'utf8'))
const byVersion = (one, other) => one.version.localeCompare(other.version, 'en', { numeric: true })

/** The lines of the matrix table, with the page's rows of versions that were not played. Undefined if none was. */
function matrixTable() {
  const played = names.filter((name) => !name.startsWith('nightly')).map(read)
  if (played.length === 0) return
  const kept = rowsOf(before, 'matrix').filter(({ version }) => played.every((one) => one.version !== version))
  const rows = [...kept, ...played.map((result) => ({ version: result.version, row: rowOf(result) }))]
  const head = ['| OpenCode | scenarios | matches the server | differs |', '|---|---|---|---|']
  return [...head, ...rows.sort(byGeneration).map(({ row }) => row)]
}

/** The row of one version's result. */
function rowOf({ version, scenarios, passed, leftOut, failed }) {
  const differing = Object.keys(failed).map((name) => `\`${name}\``)
  const missing = leftOut === 0 ? '' : ` (${leftOut} unsupported)`
  return `| ${version} | ${scenarios}${missing} | ${passed} | ${differing.join(', ') || 'none'} |`
}

/** The rows that the page has in this table, each with the version in its first cell. */
function rowsOf(text, marker) {
  const rows = tableOf(text, marker)
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
  return rows.map((row) => ({ version: row.split('|')[1].trim(), row }))
}

/** The text between the markers of a table, with the first marker. */
function tableOf(text, marker) {
  return text.slice(text.indexOf(`<!-- ${marker} -->`), text.indexOf(`<!-- /${marker} -->`))
}

/**
 * Compares two rows, for `sort`: version 1 first, then by number. The preview builds of version 2 begin with a zero.
 */
function byGeneration(one, other) {
  const isSecond = ({ version }) => version.startsWith('0.')
  return isSecond(one) - isSecond(other) || byVersion(one, other)
}

const nightly = [
  ['nightly-recorded.json', 'random fault plans on recordings'],
  ['nightly-recorded-second.json', 'random fault plans on recordings of OpenCode 2'],
  ['nightly-live.json', 'random fault plans on a real server; every 20th kills and restarts it'],
  ['nightly-approvals.json', 'approvals within 50 ms after Stop, on 1.2.27, 1.14.41 and 1.18.33'],
  ['nightly-approvals-second.json', 'approvals within 50 ms after Stop, on OpenCode 2'],
]

/** The lines of the nightly table, with the page's rows of suites that were not played. Undefined if none was. */
function nightlyTable() {
  if (nightly.every(([name]) => !names.includes(name))) return
  const kept = tableOf(before, 'nightly').split('\n')
  const rows = nightly.flatMap(([name, what]) => {
    if (!names.includes(name)) return kept.filter((row) => nameOf(row) === what)
    const { runs, failed, firstSeed } = read(name)
    const seeds = firstSeed === undefined ? '' : ` (seeds from ${firstSeed.toLocaleString('en')})`
    return [`| ${what}${seeds} | ${runs.toLocaleString('en')} | ${failed} |`]
  })
  return ['| by `npm run test:nightly` | runs | failed |', '|---|---|---|', ...rows]
}

/** The first cell of a row, without its seeds. Undefined for a line without cells. */
function nameOf(row) {
  return row
    .split('|')[1]
    ?.replace(/ \(seeds from [\d,]+\)/, '')
    .trim()
}

/**
 * Prints a table and returns the text with it between its markers. The text as it is without a table. Exits without
 * markers.
 */
function replaced(text, marker, table) {
  if (table === undefined) {
    console.log(`docs/compatibility.md keeps its ${marker} table: only \`npm run test:${marker}\` replaces it.`)
    return text
  }
  const [start, end] = [`<!-- ${marker} -->`, `<!-- /${marker} -->`]
  const [from, to] = [text.indexOf(start), text.indexOf(end)]
  if (from === -1 || to < from) {
    console.error(`docs/compatibility.md has no markers for the table: add ${start} and ${end} where it belongs.`)
    process.exit(1)
  }
  console.log(table.join('\n'))
  return `${text.slice(0, from + start.length)}\n${table.join('\n')}\n${text.slice(to)}`
}

writeFileSync(page, replaced(replaced(before, 'matrix', matrixTable()), 'nightly', nightlyTable()))
