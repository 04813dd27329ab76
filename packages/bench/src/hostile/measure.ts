import type { Path } from './paths.ts'
import { type Pattern, patterns, plainText, roundCount } from './patterns.ts'

/** The times of one pattern. */
export interface Finding {
  readonly id: string
  readonly value: number
}

/** UTF-16 units that a text grows by in each flush. */
const step = 1024

/** A ratio that is this low after the first runs is not measured further. */
const clearRatio = 2.5

/** A flush that is faster is not repeated, in ms. */
const enoughMs = 7

/** Times have settled when this many runs in a row were not faster than all before. */
const patience = 12
const patienceOfFlushes = 4

/** A run that is faster by less than this share does not count as faster. */
const leastGain = 0.02

/** How long to run both sides before their times count, and the longest of all runs of a pattern, in ms of CPU. */
const warmUpMs = 150
const longestMs = 2500

/** The most times that a pattern grows. */
const mostGrowths = 20

/** How often each pattern was written. Texts repeat after so many others that no cache still has them. */
const rounds = new Map<Pattern, number>()

/** Returns a text of the pattern that no cache still has. Counts the round. */
function nextText(pattern: Pattern, units: number): string {
  const round = rounds.get(pattern) ?? 0
  rounds.set(pattern, round + 1)
  return pattern.write(units, round % roundCount)
}

/**
 * Returns how many times as long as plain text of the same length each pattern takes, or each of those with an id in
 * `only`, rendered as a text never seen before. Plain text and pattern take turns until both have settled, so that
 * compiling their code and other work on the machine affect both alike. The fastest run of each counts.
 */
export function ratios(path: Path, units: number, only?: readonly string[]): readonly Finding[] {
  const { floor = path } = path
  const plain = (): number => flushOnce(floor, plainText, units)
  for (let spent = 0; spent < 4 * warmUpMs; ) spent += plain()
  return selectPatterns(only).map((pattern) => ({
    id: pattern.id,
    value: settledRatio(() => flushOnce(path, pattern, units), plain),
  }))
}

/**
 * Lets both run in turn until neither gets faster, the ratio is clearly low, or `longestMs` are over. Returns the
 * quotient of their fastest times.
 */
function settledRatio(run: () => number, plain: () => number): number {
  let best = Number.POSITIVE_INFINITY
  let bestPlain = Number.POSITIVE_INFINITY
  let spent = 0
  let unchanged = 0
  while (spent < longestMs && unchanged < patience) {
    const ms = run()
    const plainMs = plain()
    spent += ms + plainMs
    const isFaster = ms < best * (1 - leastGain) || plainMs < bestPlain * (1 - leastGain)
    unchanged = isFaster || spent < warmUpMs ? 0 : unchanged + 1
    best = Math.min(best, ms)
    bestPlain = Math.min(bestPlain, plainMs)
    if (spent >= warmUpMs && best <= clearRatio * bestPlain) break
  }
  return best / bestPlain
}

/**
 * Returns the longest flush of plain text and of each pattern, or of those with an id in `only`, while it grows, in ms.
 * Each flush counts as its fastest try, and the text grows again until that has settled. A path that shows texts when
 * they are complete has no live tail: its last rendering is what `ratios` measures.
 */
export function longestFlushes(path: Path, units: number, only?: readonly string[]): readonly Finding[] {
  flushGrowing(path, plainText, units)
  return [plainText, ...selectPatterns(only)].map((pattern) => {
    let best = flushGrowing(path, pattern, units)
    let unchanged = 0
    for (let at = 1; at < mostGrowths && unchanged < patienceOfFlushes; at++) {
      const longest = Math.max(...best)
      if (longest <= enoughMs) break
      const again = flushGrowing(path, pattern, units)
      best = best.map((ms, index) => Math.min(ms, again[index] ?? ms))
      unchanged = Math.max(...best) < longest * (1 - leastGain) ? 0 : unchanged + 1
    }
    return { id: pattern.id, value: Math.max(...best) }
  })
}

/** Returns the finding with the highest value, the first of several. Throws if there are none. */
export function worstOf(findings: readonly Finding[]): Finding {
  return findings.reduce((worst, finding) => (finding.value > worst.value ? finding : worst))
}

/** Returns the patterns with these ids, or all if it is undefined. */
function selectPatterns(only: readonly string[] | undefined): readonly Pattern[] {
  return only ? patterns.filter(({ id }) => only.includes(id)) : patterns
}

/** Returns the CPU time in ms of showing a new text, complete. */
function flushOnce(path: Path, pattern: Pattern, units: number): number {
  const text = nextText(pattern, units)
  const flush = path.open()
  return cpuMs(() => flush(text, false))
}

/** Returns the CPU time in ms of each flush while a new text grows by `step`. */
function flushGrowing(path: Path, pattern: Pattern, units: number): readonly number[] {
  const text = nextText(pattern, units)
  const flush = path.open()
  const times: number[] = []
  for (let end = step; end <= units; end += step) {
    const part = text.slice(0, end)
    times.push(cpuMs(() => flush(part, end < units || !path.isEdited)))
  }
  return times
}

/**
 * Returns the CPU time in ms of a flush, which excludes other work on the machine. Then lets the platform show the
 * result, which doesn't count.
 */
function cpuMs(flush: () => () => void): number {
  const before = process.cpuUsage()
  const show = flush()
  const { user, system } = process.cpuUsage(before)
  show()
  return (user + system) / 1000
}
