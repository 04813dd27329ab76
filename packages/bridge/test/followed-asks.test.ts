import { emptyReply, type Observation, observerOf, type Reply } from '@reply/core'
import { expect, test } from 'vitest'
import { createFollowedAsks } from '../src/runs/followed-asks.ts'

const ask = (requestID: string, status = 'pending') => ({ requestID, status, type: 'question', questions: [{}] })
const asking = (...asks: readonly object[]): Reply =>
  ({ ...emptyReply('ses_1'), phase: 'blocked', asks }) as unknown as Reply

/** The requests of a chat that shows `known`, as their ids and states in each observation, and how often it has left them. */
function stage(known: readonly object[] = []) {
  const seen: string[] = []
  const made = {
    seen,
    isHere: true,
    left: 0,
    see,
    followed: undefined as unknown as ReturnType<typeof createFollowedAsks>,
  }
  made.followed = createFollowedAsks({
    known: known as Reply['asks'],
    observer: observerOf(({ type, reply }) => {
      const asks = reply.asks.map(({ requestID, status }) => `${requestID} ${status}`)
      seen.push([`${type}:`, ...asks, reply.phase].join(' '))
    }),
    isStillHere: async () => made.isHere,
    onLeft: () => void made.left++,
    now: () => 1,
    onError: (error) => {
      throw error
    },
  })
  return made

  async function see(type: Observation['type'], reply: Reply): Promise<void> {
    const [newest] = reply.asks.toReversed()
    made.followed.pass({ type, reply, ...(/ask|question/i.test(type) && { ask: newest }) } as unknown as Observation)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('a new request is shown while the chat follows the run, and the others are withdrawn once it does not', async () => {
  const chat = stage()
  await chat.see('questionAsked', asking(ask('one')))
  chat.isHere = false
  await chat.see('questionAsked', asking(ask('one'), ask('two')))
  await chat.see('partAdded', asking(ask('one'), ask('two')))
  await chat.see('partAdded', asking(ask('one', 'answered'), ask('two')))
  expect(chat.seen).toEqual([
    'questionAsked: one pending blocked',
    'askWithdrawn: one withdrawn working',
    'partAdded: one withdrawn working',
    'partAdded: one answered working',
  ])
  expect(chat.left).toBe(1)
})

test('a request that an earlier process showed is not looked at again, and is withdrawn with the next new one', async () => {
  const chat = stage([ask('one')])
  chat.isHere = false
  await chat.see('replyStarted', asking(ask('one')))
  await chat.see('questionAsked', asking(ask('one'), ask('two')))
  expect(chat.seen).toEqual(['replyStarted: one pending blocked', 'askWithdrawn: one withdrawn working'])
})

test('what waits is shown again once the chat follows the run again', async () => {
  const chat = stage([ask('one')])
  chat.isHere = false
  await chat.see('questionAsked', asking(ask('one'), ask('two')))
  chat.isHere = true
  chat.followed.lookAgain()
  chat.followed.lookAgain()
  await chat.see('partAdded', asking(ask('one'), ask('two')))
  const both = 'one pending two pending blocked'
  expect(chat.seen).toEqual([
    'askWithdrawn: one withdrawn working',
    ...Array.from({ length: 4 }, () => `questionAsked: ${both}`),
    `partAdded: ${both}`,
  ])
})
