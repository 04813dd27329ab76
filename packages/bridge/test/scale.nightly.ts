import { hasPostgres, needsPostgres } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { isMissed } from '../scripts/scale/figure.ts'
import { doubtfulShare, type PartName, playPart } from '../scripts/scale/parts.ts'

/** A small variant of `npm run test:scale`: it proves nothing at full load, and keeps that script working. */
describe.skipIf(!hasPostgres())(`two bridges behind a load balancer (${needsPostgres})`, { concurrent: true }, () => {
  test.each<[PartName, string]>([
    ['deploy', 'that are restarted one after the other'],
    ['faults', 'one is killed and one is stopped'],
  ])(
    '%s: %s: nothing is lost, run twice or shown twice',
    async (part) => {
      const size = { members: 2, chats: 20, seed: 1, rate: 16, kills: 1, stops: 1, crashes: 0 }
      const { figures, wrong } = await playPart(part, size)
      // A single post in doubt is more than 1 % of the few messages here, and a fault may leave one.
      const isShare = (name: string): boolean => part === 'faults' && name === doubtfulShare
      const missed = figures.filter((figure) => isMissed(figure) && !figure.isSpeed && !isShare(figure.name))
      expect(missed, wrong.join('\n')).toEqual([])
      const known = Object.fromEntries(figures.map(({ name, value }) => [name, value]))
      expect(known.tasks).toBeGreaterThan(20)
    },
    300_000,
  )
})
