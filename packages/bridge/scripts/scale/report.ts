import { type Figure, isMissed } from './figure.ts'
import { bridgeCpu, type PartResult, postgresCpu } from './parts.ts'

/** What was measured, and on what. */
export interface Measured {
  readonly results: readonly Pick<PartResult, 'part' | 'figures'>[]
  /** Where and how, as one sentence in Markdown. */
  readonly circumstances: string
}

/** The numbers of cores that the figures are reckoned for. */
const reckonedCores = [2, 4, 8, 16]
/** How much of the cores' time they are reckoned with: at more, messages begin to wait for each other. */
const usedShare = 0.6
const [start, end] = ['<!-- scale -->', '<!-- /scale -->']

/** Returns the report in Markdown, for a terminal and for docs/scale.md. */
export function reportOf({ results, circumstances }: Measured): string {
  return [circumstances, tableOf(results), ...reckoning(results)].join('\n\n')
}

/** Returns the page with the report between its markers. Throws if the page lacks them. */
export function withReport(page: string, report: string): string {
  const [from, to] = [page.indexOf(start), page.indexOf(end)]
  if (from === -1 || to < from) throw new Error(`The page has no place for the report: add ${start} and ${end} to it.`)
  return `${page.slice(0, from + start.length)}\n${report}\n${page.slice(to)}`
}

/** Returns all figures, one a row, with the parts that have them. */
function tableOf(results: Measured['results']): string {
  const names = [...new Set(results.flatMap(({ figures }) => figures.map(({ name }) => name)))]
  const rows = names.map((name) => {
    const found = results.map(({ figures }) => figures.find((figure) => figure.name === name))
    const goals = new Set(found.flatMap((figure) => (figure?.most === undefined ? [] : [`≤ ${textOf(figure.most)}`])))
    return [name, ...found.map((figure) => (figure ? cellOf(figure) : '')), [...goals].join(', ')]
  })
  return markdownTable(['', ...results.map(({ part }) => part), 'goal'], rows)
}

function cellOf(figure: Figure): string {
  return isMissed(figure) ? `**${textOf(figure.value)}, missed**` : textOf(figure.value)
}

/** Returns what the CPU time of a message tells about more cores. Nothing if it was not measured. */
function reckoning(results: Measured['results']): readonly string[] {
  const figures = results.flatMap((result) => result.figures)
  const msOf = (name: string): number => figures.find((figure) => figure.name === name)?.value ?? 0
  const [bridges, postgres] = [msOf(bridgeCpu), msOf(postgresCpu)]
  if (bridges === 0) return []
  const perSecond = (cores: number): number => Math.floor((cores * usedShare * 1000) / (bridges + postgres))
  return [
    `A message whose answer is one post took ${textOf(bridges)} ms of CPU in the bridges and ${textOf(postgres)} ms in PostgreSQL. Reckoned from that, not measured, with ${100 * usedShare} % of the cores' time:`,
    markdownTable(
      ['cores of all bridges and PostgreSQL', ...reckonedCores.map(String)],
      [['messages a second', ...reckonedCores.map((cores) => textOf(perSecond(cores)))]],
    ),
  ]
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function textOf(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 1 })
}
