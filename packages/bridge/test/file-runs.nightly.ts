import { expect, test } from 'vitest'
import { firstSeed } from '../../../scripts/first-seed.ts'
import { blows, type FileRuns, playFileRuns } from './file-runs.ts'

const first = firstSeed('REPLY_FILE_RUNS_SEED')
/** Stages of twenty runs, four on each platform. Two are played at a time: they mostly wait. */
const stages = 10
const lanes = 2

test('in 200 runs with faults no file is lost, and each copy is counted', { timeout: 3_000_000 }, async () => {
  const waiting = Array.from({ length: stages }, (_, index) => index)
  const played: FileRuns[] = []
  const playNext = async (): Promise<void> => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift())
      played.push(await playFileRuns({ seed: first + index, blow: blows[index % blows.length] ?? 'none', chats: 4 }))
  }
  await Promise.all(Array.from({ length: lanes }, playNext))
  console.table(played.map(({ wrong, chats: _, ...counts }) => ({ ...counts, wrong: wrong.length })))
  const sumOf = (count: (run: FileRuns) => number): number => played.reduce((sum, run) => sum + count(run), 0)
  const [files, late, lost] = [sumOf((run) => run.files), sumOf((run) => run.late), sumOf((run) => run.lost)]
  console.log(
    `Of ${files} files, ${late} came or were named only after /resend and count as not lost. ${lost} were lost.`,
  )
  expect(played.flatMap(({ wrong }) => wrong)).toEqual([])
  expect(played.reduce((sum, { runs }) => sum + runs, 0)).toBe(200)
  expect(lost).toBe(0)
  // Else a bridge that posts each file only when it is asked for would do.
  expect(late).toBeLessThan(files / 10)
})
