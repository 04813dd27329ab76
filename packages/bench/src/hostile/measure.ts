import type { Path } from './path.ts'
import { type Pattern, patterns, plainText } from './patterns.ts'

/** The times of one pattern. */
export interface Finding {
  readonly id: string
  readonly value: number
}

/** UTF-16 units that a text grows by in each flush. */
const step = 1024

/** UTF-16 units to render before plain text is measured. Each pattern gets a third of that. */
const warmedUnits = 400_000

/** A flush that is faster is not repeated, in ms. */
const enoughMs = 8

/** Maximum tries of a text. Other work on the machine and collected garbage slow some of them. */
const tries = 9

/** How often each pattern was written, so that no text is in a cache. */
const rounds = new Map<Pattern, number>()

function write(pattern: Pattern, units: number): string {
  const round = rounds.get(pattern) ?? 0
  rounds.set(pattern, round + 1)
  return pattern.write(units, round)
}

/** How many times as long as plain text of the same length each pattern takes, rendered once and never seen before. */
export function ratios(path: Path, units: number, only?: readonly string[]): readonly Finding[] {
  const warmUps = Math.ceil(warmedUnits / units)
  const { floor = path } = path
  for (let warm = 0; warm < warmUps; warm++) once(floor, plainText, units)
  const plain = Math.min(...Array.from({ length: tries }, () => once(floor, plainText, units)))
  return chosen(only).map((pattern) => {
    for (let warm = 0; warm < warmUps / 3; warm++) once(path, pattern, units)
    return { id: pattern.id, value: fastest(plain * 2, () => once(path, pattern, units)) / plain }
  })
}

/**
 * The longest flush of each pattern while it grows, in ms. Each flush counts as its fastest try. A path that shows
 * texts when they are complete has no live tail: its last rendering is what `ratios` measures.
 */
export function longestFlushes(path: Path, units: number, only?: readonly string[]): readonly Finding[] {
  grow(path, plainText, units)
  return [plainText, ...chosen(only)].map((pattern) => {
    let best = grow(path, pattern, units)
    for (let at = 1; at < tries && Math.max(...best) > enoughMs; at++) {
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
  const text = write(pattern, units)
  const flush = path.open()
  return cpuMs(() => flush(text, false))
}

function grow(path: Path, pattern: Pattern, units: number): readonly number[] {
  const text = write(pattern, units)
  const flush = path.open()
  const times: number[] = []
  for (let end = step; end <= units; end += step) {
    const part = text.slice(0, end)
    times.push(cpuMs(() => flush(part, end < units || !path.isEdited)))
  }
  return times
}

/** CPU time, which excludes other work on the machine, including the work that the flush left to do. */
function cpuMs(flush: () => () => void): number {
  const before = process.cpuUsage()
  const show = flush()
  const { user, system } = process.cpuUsage(before)
  show()
  return (user + system) / 1000
}

function fastest(enough: number, run: () => number): number {
  let best = run()
  for (let at = 1; at < tries && best > enough; at++) best = Math.min(best, run())
  return best
}
