import { emptyReply, type Observation, observerOf, type Reply } from '@reply/core'
import { expect, test } from 'vitest'
import type { WhereAsksGo } from '../src/runs/follow-target.ts'
import { createFollowedAsks } from '../src/runs/followed-asks.ts'

const ask = (requestID: string, status = 'pending') => ({ requestID, status, type: 'question', questions: [{}] })
const asking = (...asks: readonly object[]): Reply =>
  ({ ...emptyReply('ses_1'), phase: 'blocked', asks }) as unknown as Reply

/** The requests of a chat that shows `known`, as their ids and states in each observation, and how many it does not get. */
function stage(known: readonly object[] = []) {
  const seen: string[] = []
  const made = {
    seen,
    where: 'here' as WhereAsksGo | 'unknown',
    notHere: 0,
    errors: [] as string[],
    again: undefined as (() => void) | undefined,
    see,
    followed: undefined as unknown as ReturnType<typeof createFollowedAsks>,
  }
  made.followed = createFollowedAsks({
    known: known as Reply['asks'],
    announced: known as Reply['asks'],
    observer: observerOf(({ type, reply }) => {
      const asks = reply.asks.map(({ requestID, status }) => `${requestID} ${status}`)
      seen.push([`${type}:`, ...asks, reply.phase].join(' '))
    }),
    asksGo: async () => {
      if (made.where === 'unknown') throw new Error('The row is malformed.')
      return made.where
    },
    onNotHere: () => void made.notHere++,
    now: () => 1,
    after: (_delayMs, run) => {
      made.again = run
    },
    onError: ({ message }) => void made.errors.push(message),
  })
  return made

  async function see(type: Observation['type'], reply: Reply): Promise<void> {
    const [newest] = reply.asks.toReversed()
    made.followed.pass({ type, reply, ...(/ask|question/i.test(type) && { ask: newest }) } as unknown as Observation)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('a new request is shown while the chat follows the run, and the others are shown as withdrawn once another chat does', async () => {
  const chat = stage()
  await chat.see('questionAsked', asking(ask('one')))
  chat.where = 'elsewhere'
  await chat.see('questionAsked', asking(ask('one'), ask('two')))
  await chat.see('partAdded', asking(ask('one'), ask('two')))
  await chat.see('partAdded', asking(ask('one', 'answered'), ask('two')))
  expect(chat.seen).toEqual([
    'questionAsked: one pending blocked',
    'askChanged: one withdrawn working',
    'partAdded: one withdrawn working',
    'partAdded: one answered working',
  ])
  expect([chat.notHere, chat.followed.hasLeft()]).toEqual([1, true])
  expect(['one', 'two'].map(chat.followed.isAskedElsewhere)).toEqual([false, true])
})

test('a request that an earlier process showed is not looked at again, and is withdrawn with the next new one', async () => {
  const chat = stage([ask('one')])
  chat.where = 'elsewhere'
  await chat.see('replyStarted', asking(ask('one')))
  await chat.see('questionAsked', asking(ask('one'), ask('two')))
  expect(chat.seen).toEqual(['replyStarted: one pending blocked', 'askChanged: one withdrawn working'])
})

test('what waits is shown again once the chat follows the run again, and begins only if the chat has not shown it', async () => {
  const chat = stage([ask('one')])
  chat.where = 'elsewhere'
  await chat.see('questionAsked', asking(ask('one'), ask('two')))
  chat.where = 'here'
  chat.followed.lookAgain()
  chat.followed.lookAgain()
  await chat.see('partAdded', asking(ask('one'), ask('two')))
  const both = 'one pending two pending blocked'
  expect(chat.seen).toEqual([
    'askChanged: one withdrawn working',
    `askChanged: ${both}`,
    `questionAsked: ${both}`,
    ...Array.from({ length: 2 }, () => `askChanged: ${both}`),
    `partAdded: ${both}`,
  ])
})

test('a new request that no chat is to show leaves those alone that are shown, and is shown once the chat is to', async () => {
  const chat = stage([ask('one')])
  chat.where = 'nowhere'
  await chat.see('questionAsked', asking(ask('one'), ask('two')))
  await chat.see('partAdded', asking(ask('one'), ask('two')))
  expect([chat.notHere, chat.followed.hasLeft()]).toEqual([1, false])
  chat.where = 'here'
  chat.followed.lookAgain()
  await chat.see('partAdded', asking(ask('one', 'answered'), ask('two')))
  expect(chat.seen).toEqual([
    'partAdded: one pending blocked',
    'questionAsked: one pending two pending blocked',
    'partAdded: one answered two pending blocked',
  ])
})

test('a new request is not shown while it is unknown where it goes, and those that are shown stay', async () => {
  const chat = stage([ask('one')])
  chat.where = 'unknown'
  await chat.see('questionAsked', asking(ask('one'), ask('two')))
  chat.again?.()
  await chat.see('partAdded', asking(ask('one'), ask('two')))
  expect([chat.seen, chat.errors]).toEqual([['partAdded: one pending blocked'], ['The row is malformed.']])
  chat.where = 'here'
  chat.again?.()
  await chat.see('partAdded', asking(ask('one'), ask('two')))
  expect(chat.seen.slice(1)).toEqual([
    'questionAsked: one pending two pending blocked',
    'partAdded: one pending two pending blocked',
  ])
})
