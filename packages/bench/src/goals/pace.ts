import { measurePace } from '../delivery/pace.ts'
import { type PacedPlatform, pacedPlatforms } from '../delivery/paced-platforms.ts'
import type { Goal } from '../goal.ts'

/** One chat of a bot, and ten whose texts grow at the same time. */
const crowds = [1, 10]

/** `node packages/bench/dist/delivery/pace-table.js` shows the times, and those of platforms without edits. */
export const paceGoals: readonly Goal[] = pacedPlatforms
  .filter(({ edits }) => edits)
  .flatMap((platform): readonly Goal[] => [
    {
      id: `pace.${platform.id}.freeze`,
      what: `${platform.name}: longest time growing text stands still, with one chat or ten, against what the platform's budget allows`,
      unit: '× as long',
      bound: { atMost: 1.3 },
      measure: async () => await worst(platform, ({ freezeMs, budgetMs }) => freezeMs / budgetMs),
    },
    {
      id: `pace.${platform.id}.late`,
      what: `${platform.name}: mean time that text stays unseen, against the same`,
      unit: '× as long',
      bound: { atMost: 0.75 },
      measure: async () => await worst(platform, ({ lateMs, budgetMs }) => lateMs / budgetMs),
    },
  ])

type Paced = Awaited<ReturnType<typeof measurePace>>

async function worst(platform: PacedPlatform, ratio: (paced: Paced) => number): Promise<number> {
  const all: number[] = []
  for (const chats of crowds) all.push(ratio(await measurePace(platform, chats)))
  return Math.max(...all)
}
