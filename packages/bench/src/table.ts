import { type Goal, inWords, keeps } from './goal.ts'

export interface Measured {
  readonly goal: Goal
  readonly value: number
}

/** A Markdown table, aligned so that its source is readable too. */
export function toTable(measured: readonly Measured[]): string {
  const head = ['id', 'what', 'measured', 'goal', 'holds']
  const lines = measured.map(({ goal, value }) => [
    goal.id,
    goal.what,
    `${rounded(value)} ${goal.unit}`,
    inWords(goal.bound),
    holds(goal, value),
  ])
  const widths = head.map((title, column) => Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)))
  const rule = widths.map((width) => '-'.repeat(width))
  return [head, rule, ...lines].map((line) => toLine(line, widths)).join('\n')
}

function toLine(cells: readonly string[], widths: readonly number[]): string {
  return `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
}

function holds({ bound }: Goal, value: number): string {
  return keeps(value, bound) ? 'yes' : '**no**'
}

function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
