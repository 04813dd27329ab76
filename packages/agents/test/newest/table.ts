import type { Row, Table } from './verdict.ts'

const start = '<!-- newest -->'
const end = '<!-- /newest -->'

const head = [
  '| agent | version | played on | scenes that hold | clauses that hold | fails, and did not before | fails | new shapes | last green |',
  '|---|---|---|---|---|---|---|---|---|',
]

/** Returns the page with the table between its markers. Throws if the page has no markers. */
export function withTable(page: string, table: Table): string {
  const from = page.indexOf(start)
  const to = page.indexOf(end)
  if (from < 0 || to < from) throw new Error(`The page has no ${start} … ${end}. Add both markers.`)
  return `${page.slice(0, from + start.length)}\n${tableText(table)}\n${page.slice(to)}`
}

/** Returns the table that the page has. Empty if there is none yet. Throws for a row that can't be read. */
export function tableIn(page: string): Table {
  const lines = page.slice(page.indexOf(start), page.indexOf(end)).split('\n')
  const reasons = new Map(lines.filter((line) => line.startsWith('- ')).map(readReasons))
  const scenes = lines.find((line) => line.startsWith('Scenes: ')) ?? ''
  const rows = lines.filter((line) => line.startsWith('| ') && line !== head[0])
  return { scenes: names(scenes), rows: rows.map((line) => readRow(line, reasons)) }
}

function tableText({ scenes, rows }: Table): string {
  const offers = rows.filter(({ notOffered }) => notOffered.length > 0)
  return [
    ...[...head, ...rows.map((row) => rowText(row, scenes.length))],
    ...['', `Scenes: ${quoted(scenes)}.`],
    ...(offers.length === 0 ? [] : ['', 'Not offered:', '']),
    ...offers.map(({ agent, notOffered }) => {
      const each = notOffered.map(([name, reason]) => `\`${name}\` (${reason.replace(/[()|`\n]/g, '')})`)
      return `- ${agent}: ${each.join(', ')}`
    }),
  ].join('\n')
}

function rowText(row: Row, scenes: number): string {
  const { agent, version, date, holding, clauses, broken, failing, notOffered, newShapes, green } = row
  const offered = `${holding} of ${scenes - notOffered.length}`
  const cells = [
    ...[agent, version, date, offered, `${clauses[0]} of ${clauses[1]}`, quoted(broken), quoted(failing)],
    ...[String(newShapes), green === undefined ? 'never' : green.join(' on ')],
  ]
  return `| ${cells.join(' | ')} |`
}

function readRow(line: string, reasons: ReadonlyMap<string, Row['notOffered']>): Row {
  const cells = line.split('|').map((cell) => cell.trim())
  const [, agent = '', version = '', date = '', scenes = '', clauses = '', broken = '', failing = ''] = cells
  const [newShapes = '', green = ''] = cells.slice(8)
  const [holding] = numbers(scenes)
  const [holds, all] = numbers(clauses)
  const [greenVersion, greenDate] = green.split(' on ')
  if (holding === undefined || holds === undefined || all === undefined || !/^\d{4}-\d\d-\d\d$/.test(date))
    throw new Error(`This row of the table can't be read: ${line}`)
  return {
    agent,
    version,
    date,
    holding,
    clauses: [holds, all],
    broken: names(broken),
    failing: names(failing),
    notOffered: reasons.get(agent) ?? [],
    newShapes: Number(newShapes),
    green: greenVersion === undefined || greenDate === undefined ? undefined : [greenVersion, greenDate],
  }
}

function readReasons(line: string): [string, Row['notOffered']] {
  const agent = line.slice(2, line.indexOf(': `'))
  const each = [...line.matchAll(/`([^`]+)` \(([^)]*)\)/g)]
  return [agent, each.map(([, name = '', reason = '']): [string, string] => [name, reason])]
}

function quoted(list: readonly string[]): string {
  return list.length === 0 ? 'none' : list.map((name) => `\`${name}\``).join(', ')
}

function names(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
}

function numbers(text: string): readonly number[] {
  return [...text.matchAll(/\d+/g)].map(([digits]) => Number(digits))
}
