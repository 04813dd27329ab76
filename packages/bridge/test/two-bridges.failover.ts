import { loadavg } from 'node:os'
import { hasPostgres, needsPostgres } from '@reply/testing/internal'
import { afterAll, describe, expect, test } from 'vitest'
import { firstSeed } from '../../../scripts/first-seed.ts'
import { type Engine, type Fault, faultsOf, type Played, playTwoBridges } from './two-bridges.ts'

const seed = firstSeed('REPLY_KILL_SEED')
/** How often each fault hits. A crash of the server hits both bridges at once. */
const roundsOf: Readonly<Record<Fault, number>> = {
  killed: 25,
  stopped: 25,
  'stopped-in-call': 25,
  'cut-off': 25,
  'server-crashed': 10,
}
/** The longest takeover, in ms: two leases. A crash of the server ends no bridge, so nothing is taken over then. */
const mostMs = 8000
const results: (Played & { readonly load: number })[] = []

afterAll(() => process.stdout.write(`${tableOf(results)}\n`))

describe.each<[engine: Engine, name: string]>([
  ['postgres', `PostgreSQL (${needsPostgres})`],
  ['sqlite', 'SQLite'],
])('%s: two bridges on one state in %s', (engine) => {
  const isSkipped = engine === 'postgres' && !hasPostgres()
  test.skipIf(isSkipped).each(faultsOf[engine])(
    '%s: no final is missing, shown twice or overwritten, and no prompt runs twice',
    async (fault) => {
      const played = await playTwoBridges({ engine, fault, rounds: roundsOf[fault], seed })
      const [load = 0] = loadavg()
      results.push({ ...played, load })
      const isTakenOver = fault !== 'server-crashed'
      const slow = played.takeoverMs.filter((ms) => isTakenOver && ms > mostMs)
      const words = slow.length === 0 ? [] : [`takeovers took ${slow.join(', ')} ms, at a load of ${load}`]
      expect([...words, ...played.wrong]).toEqual([])
      expect(played.takeoverMs).toHaveLength(roundsOf[fault])
    },
    3_600_000,
  )

  // One that is stopped in the call that posts can't know whether that is made.
  test.skipIf(isSkipped)('at most 1 % of the finals are in doubt, unless the owner is stopped in a call', () => {
    const own = results.filter((one) => one.engine === engine && one.fault !== 'stopped-in-call')
    const doubtful = own.reduce((sum, one) => sum + one.doubtfulLasting, 0)
    const finals = own.reduce((sum, one) => sum + one.finals, 0)
    expect(finals).toBeGreaterThan(0)
    expect(doubtful).toBeLessThanOrEqual(finals / 100)
  })
})

function medianOf(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}

/** Returns the results as a table in Markdown. */
function tableOf(all: typeof results): string {
  const head = [
    ...[
      'engine',
      'fault',
      'times',
      'finals',
      'doubled',
      'doubtful posts',
      'of finals',
      'missing',
      'overwritten',
      'for a while older',
    ],
    ...['prompts twice', 'takeover median, ms', 'worst, ms', 'load'],
  ]
  const rows = all.map((one) => [
    ...[
      one.engine,
      one.fault,
      one.takeoverMs.length,
      one.finals,
      one.doubled,
      one.doubtful,
      one.doubtfulLasting,
      one.missing,
    ],
    ...[one.overwritten, one.reverted, one.promptsTwice, medianOf(one.takeoverMs), Math.max(...one.takeoverMs)],
    one.load.toFixed(1),
  ])
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}
