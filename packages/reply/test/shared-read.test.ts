import { expect, test } from 'vitest'
import { sharedRead } from '../src/source/shared-read.ts'

/** A read that the test answers, and what was asked for. */
function stage() {
  const asked: {
    readonly key: string
    readonly answer: (value: number) => void
    readonly fail: (error: Error) => void
  }[] = []
  const read = sharedRead(
    async (key: string) => await new Promise<number>((answer, fail) => asked.push({ key, answer, fail })),
  )
  return { asked, read }
}

test('calls that come while a read is on its way share the next one', async () => {
  const { asked, read } = stage()
  const first = read('a')
  const later = [read('a'), read('a'), read('a')]
  expect(asked).toHaveLength(1)
  asked[0]?.answer(1)
  expect(await first).toBe(1)
  await Promise.resolve()
  expect(asked).toHaveLength(2)
  const last = read('a')
  asked[1]?.answer(2)
  expect(await Promise.all(later)).toEqual([2, 2, 2])
  await Promise.resolve()
  asked[2]?.answer(3)
  expect(await last).toBe(3)
  expect(asked).toHaveLength(3)
})

test('a read that fails fails its own calls, and the next one begins', async () => {
  const { asked, read } = stage()
  const [first, second] = [read('a'), read('a')]
  asked[0]?.fail(new Error('No answer.'))
  await expect(first).rejects.toThrow('No answer.')
  asked[1]?.answer(2)
  expect(await second).toBe(2)
  const third = read('a')
  asked[2]?.answer(3)
  expect(await third).toBe(3)
})

test('reads of different keys don’t wait for each other', async () => {
  const { asked, read } = stage()
  const [a, b] = [read('a'), read('b')]
  expect(asked.map(({ key }) => key)).toEqual(['a', 'b'])
  asked[1]?.answer(2)
  expect(await b).toBe(2)
  asked[0]?.answer(1)
  expect(await a).toBe(1)
})
