import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { observerOf, type Reply, type ReplyObserver } from '@reply/core'
import { expect, test } from 'vitest'
import { createEndedRuns } from '../src/runs/ended-runs.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
const reply = { sessionID: 'ses_1' } as Reply

test('an ended run is observed until enough others have ended after it', () => {
  const endedRuns = createEndedRuns(2)
  const told: string[] = []
  const runs = ['first', 'second', 'third'].map((name) => {
    const held = endedRuns.createRunObservers()
    const observers = held.wrap([
      observerOf(({ type }) => void told.push(`${name} ${type}`)),
      { replyStarted: () => told.push(`${name} also`) },
    ])
    return { end: held.releaseLater, observers }
  })
  const amend = (): readonly string[] => {
    for (const observer of runs.flatMap(({ observers }) => observers))
      observer.replyAmended?.({ type: 'replyAmended', reply })
    return told.splice(0)
  }
  const [first, second, third] = runs
  first?.observers[1]?.replyStarted?.({ type: 'replyStarted', reply })
  expect(told.splice(0)).toEqual(['first also'])
  for (const run of [second, first]) run?.end()
  expect(amend()).toEqual(['first replyAmended', 'second replyAmended', 'third replyAmended'])
  third?.end()
  expect(amend()).toEqual(['first replyAmended', 'third replyAmended'])
})

test('what observed a run is free once enough others have ended, though its observers are kept', async () => {
  const endedRuns = createEndedRuns(0)
  const held = endedRuns.createRunObservers()
  const { kept, sink } = ((): { kept: readonly ReplyObserver[]; sink: WeakRef<ReplyObserver> } => {
    const own = { replySettled: () => {} }
    return { kept: held.wrap([own]), sink: new WeakRef(own) }
  })()
  held.releaseLater()
  // Not the observer itself, which a failed comparison would keep.
  const isFree = (): boolean => {
    collectGarbage()
    return sink.deref() === undefined
  }
  await expect.poll(isFree).toBe(true)
  expect(kept).toHaveLength(1)
})
