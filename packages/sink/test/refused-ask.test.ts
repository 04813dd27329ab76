import { expect, test } from 'vitest'
import { permits, replyWith, settledWith, text } from './make.ts'
import { createScene } from './scene.ts'

test('the error of a request that the platform refuses to post names it, and that of a text does not', async () => {
  const fake = { faults: [{ call: 1, type: 'refused' }] } as const
  const asking = createScene({ fake })
  asking.show(replyWith([], { asks: [permits()] }))
  await asking.pass(5000)
  const answering = createScene({ fake })
  answering.show(settledWith([text('An answer.')]))
  await answering.end()
  const refusals = [asking, answering].map(({ errors }) => errors.map(({ type, refusedAsk }) => [type, refusedAsk]))
  const refusedAsk = { requestID: permits().requestID, isOfChat: false }
  expect(refusals).toEqual([[['port', refusedAsk]], [['port', undefined]]])
})

test('the error of a request says whether the chat is gone', async () => {
  const scene = createScene({ fake: { faults: [{ call: 1, type: 'gone' }] } })
  scene.show(replyWith([], { asks: [permits()] }))
  await scene.pass(5000)
  expect(scene.errors.map(({ refusedAsk }) => refusedAsk?.isOfChat)).toEqual([true])
})
