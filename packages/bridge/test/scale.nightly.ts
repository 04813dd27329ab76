import { hasPostgres, needsPostgres } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { isMissed } from '../scripts/scale/figure.ts'
import { doubtfulShare, type PartName, playPart } from '../scripts/scale/parts.ts'

/** A small variant of `npm run test:scale`: it proves nothing at full load, and keeps that script working. */
describe.skipIf(!hasPostgres())(`two bridges behind a load balancer (${needsPostgres})`, { concurrent: true }, () => {
  test.each<[PartName, string]>([
    ['calm', 'people write, answer and stop'],
    ['deploy', 'that are restarted one after the other'],
    ['faults', 'one is killed, one is stopped, and PostgreSQL crashes'],
  ])(
    '%s: %s: nothing is lost, run twice or shown twice',
    async (part) => {
      // Without faults, people write for a time that the number of chats decides.
      const chats = part === 'calm' ? 60 : 20
      const size = { members: 2, chats, seed: 1, rate: 16, kills: 1, stops: 1, crashes: 1 }
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
