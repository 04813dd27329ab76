import type { Path } from './paths.ts'
import { type Pattern, patterns, plainText } from './patterns.ts'

/** What one pattern took. */
export interface Finding {
  readonly id: string
  readonly value: number
}

/** Units that a text grows by from flush to flush. */
const step = 1024

/** The most tries of a text. Other work on the machine slows some of them down. */
const tries = 4

let round = 0

/** How many times as long as plain text of the same length each pattern takes, rendered once and never seen before. */
export function ratios(path: Path, units: number, only?: readonly string[]): readonly Finding[] {
  for (let warm = 0; warm < 12; warm++) once(path, plainText, units)
  const plain = Math.min(...Array.from({ length: 9 }, () => once(path, plainText, units)))
  return chosen(only).map((pattern) => {
    for (let warm = 0; warm < (units > 20_000 ? 1 : 4); warm++) once(path, pattern, units)
    return { id: pattern.id, value: fastest(plain * 2, () => once(path, pattern, units)) / plain }
  })
}

/** The longest flush of each pattern while it grows, in ms. Each flush counts as its fastest try. */
export function longestFlushes(path: Path, units: number, only?: readonly string[]): readonly Finding[] {
  grow(path, plainText, units)
  return [plainText, ...chosen(only)].map((pattern) => {
    let best = grow(path, pattern, units)
    for (let at = 1; at < tries && Math.max(...best) > 3; at++) {
      const again = grow(path, pattern, units)
      best = best.map((ms, index) => Math.min(ms, again[index] ?? ms))
    }
    return { id: pattern.id, value: Math.max(...best) }
  })
}

export function worstOf(findings: readonly Finding[]): Finding {
  return findings.reduce((worst, one) => (one.value > worst.value ? one : worst))
}

function chosen(only: readonly string[] | undefined): readonly Pattern[] {
  return only ? patterns.filter(({ id }) => only.includes(id)) : patterns
}

function once(path: Path, pattern: Pattern, units: number): number {
  const text = pattern.write(units, round++)
  const flush = path.open()
  return cpuMs(() => flush(text, false))
}

function grow(path: Path, pattern: Pattern, units: number): readonly number[] {
  const text = pattern.write(units, round++)
  const flush = path.open()
  const times: number[] = []
  for (let end = step; end <= units; end += step) {
    const part = text.slice(0, end)
    times.push(cpuMs(() => flush(part, end < units)))
  }
  return times
}

/** CPU time, which leaves out other work on the machine. */
function cpuMs(run: () => void): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function fastest(enough: number, run: () => number): number {
  let best = run()
  for (let at = 1; at < tries && best > enough; at++) best = Math.min(best, run())
  return best
}
