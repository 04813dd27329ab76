// Copies the results of `npm run test:matrix` and `npm run test:nightly` into docs/compatibility.md, each table between
// its markers. What was not played keeps its row.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

const page = new URL('../docs/compatibility.md', import.meta.url)
const matrix = new URL('../packages/reply/test/drive/matrix/', import.meta.url)
const results = new URL('results/', matrix)

const pageBefore = readFileSync(page, 'utf8')
const resultFiles = existsSync(results) ? readdirSync(results).filter((name) => name.endsWith('.json')) : []
const readResult = (name) => JSON.parse(readFileSync(new URL(name, results), 'utf8'))
const byVersion = (one, other) => one.version.localeCompare(other.version, 'en', { numeric: true })

/** Returns the lines of the matrix table, with the page's own rows for versions that were not played. Undefined if none was. */
function matrixTable() {
  const played = resultFiles.filter((name) => !name.startsWith('nightly')).map(readResult)
  if (played.length === 0) return
  const kept = rowsOf(pageBefore, 'matrix').filter(({ version }) => played.every((one) => one.version !== version))
  const rows = [...kept, ...played.map((result) => ({ version: result.version, row: rowOf(result) }))]
  const head = ['| OpenCode | scenarios | matches the server | differs |', '|---|---|---|---|']
  return [...head, ...rows.sort(byGeneration).map(({ row }) => row)]
}

/** Returns the table row of one version's result. */
function rowOf({ version, scenarios, passed, leftOut, failed }) {
  const differing = Object.keys(failed).map((name) => `\`${name}\``)
  const missing = leftOut === 0 ? '' : ` (${leftOut} unsupported)`
  return `| ${version} | ${scenarios}${missing} | ${passed} | ${differing.join(', ') || 'none'} |`
}

/** Returns the rows of versions that the page has in this table, each with the version from its first cell. */
function rowsOf(text, marker) {
  const rows = tableOf(text, marker)
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
  return rows.map((row) => ({ version: row.split('|')[1].trim(), row }))
}

/** Returns the page's text between the markers of a table, with the first marker. */
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

const nightlySuites = [
  ['nightly-recorded.json', 'random fault plans on recordings'],
  ['nightly-recorded-second.json', 'random fault plans on recordings of OpenCode 2'],
  ['nightly-live.json', 'random fault plans on a real server; every 20th kills and restarts it'],
  ['nightly-approvals.json', 'approvals within 50 ms after Stop, on 1.2.27, 1.14.41 and 1.18.33'],
  ['nightly-approvals-second.json', 'approvals within 50 ms after Stop, on OpenCode 2'],
]

/** Returns the lines of the nightly table, with the page's own rows for suites that were not played. Undefined if none was. */
function nightlyTable() {
  if (nightlySuites.every(([name]) => !resultFiles.includes(name))) return
  const kept = tableOf(pageBefore, 'nightly').split('\n')
  const rows = nightlySuites.flatMap(([name, what]) => {
    if (!resultFiles.includes(name)) return kept.filter((row) => suiteNameOf(row) === what)
    const { runs, failed, firstSeed } = readResult(name)
    const seeds = firstSeed === undefined ? '' : ` (seeds from ${firstSeed.toLocaleString('en')})`
    return [`| ${what}${seeds} | ${runs.toLocaleString('en')} | ${failed} |`]
  })
  return ['| by `npm run test:nightly` | runs | failed |', '|---|---|---|', ...rows]
}

/** Returns the name of the suite in a row's first cell, without its seeds. Undefined for a line without cells. */
function suiteNameOf(row) {
  return row
    .split('|')[1]
    ?.replace(/ \(seeds from [\d,]+\)/, '')
    .trim()
}

/**
 * Returns the page's text with the new lines of a table between its markers, and prints them. Without lines, returns the text
 * as it is, and prints that the table stays. Ends the process with exit code 1 if the text has no markers.
 */
function withTable(text, marker, lines) {
  if (lines === undefined) {
    console.log(`docs/compatibility.md keeps its ${marker} table: only \`npm run test:${marker}\` replaces it.`)
    return text
  }
  const [start, end] = [`<!-- ${marker} -->`, `<!-- /${marker} -->`]
  const [from, to] = [text.indexOf(start), text.indexOf(end)]
  if (from === -1 || to < from) {
    console.error(`docs/compatibility.md has no markers for the table: add ${start} and ${end} where it belongs.`)
    process.exit(1)
  }
  console.log(lines.join('\n'))
  return `${text.slice(0, from + start.length)}\n${lines.join('\n')}\n${text.slice(to)}`
}

writeFileSync(page, withTable(withTable(pageBefore, 'matrix', matrixTable()), 'nightly', nightlyTable()))
