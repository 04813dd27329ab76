import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createChats } from '../src/deliver/chat-calls.ts'
import { createPacer } from '../src/deliver/pace.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import { beginning } from './timeline.ts'

test('chats at rest are forgotten', async () => {
  const clock = createHandClock(beginning)
  const chats = createChats(clock)
  chats.useLimits(fakeLimits)
  for (let id = 0; id < 10_000; id++) {
    chats.callsIn(`${id}`).times = [{ at: clock.now(), by: {} }]
    await clock.advance(1000)
  }
  expect(chats.size).toBeLessThanOrEqual(256)
})

test('chats in which something goes on are remembered', () => {
  const chats = createChats(createHandClock(beginning))
  chats.useLimits(fakeLimits)
  const changes: readonly ((calls: ReturnType<typeof chats.callsIn>) => void)[] = [
    (calls) => {
      calls.isBusy = true
    },
    (calls) => {
      calls.frozenUntil = beginning + 1
    },
    (calls) => {
      calls.times = [{ at: beginning, by: {} }]
    },
    (calls) => calls.freeListeners.push(() => {}),
    (calls) => calls.urgentCalls.set({}, { priority: 'ask', waitingSince: 0 }),
    (calls) => calls.exclusiveAsks.set({}, { since: 0, isShown: true, thread: undefined }),
  ]
  const busy = changes.map((change, index) => {
    const calls = chats.callsIn(`busy ${index}`)
    change(calls)
    return calls
  })
  for (let id = 0; id < 2000; id++) chats.callsIn(`${id}`)
  expect(busy.map((_, index) => chats.callsIn(`busy ${index}`))).toEqual(busy)
  expect(busy.every((calls, index) => chats.callsIn(`busy ${index}`) === calls)).toBe(true)
})

test('two sinks of a chat share its budget, also after it was forgotten in between', async () => {
  const clock = createHandClock(beginning)
  const pacer = createPacer({ clock })
  const [one, other] = [0, 1].map(() => pacer.chat({ id: 'chat' }, fakeLimits))
  await clock.advance(600_000)
  for (let id = 0; id < 1000; id++) pacer.chat({ id: `${id}` }, fakeLimits).readyAt('ask')
  for (let count = 0; count < fakeLimits.perChat.calls; count++) one?.startCall()?.()
  expect(other?.readyAt('ask')).toBe(clock.now() + fakeLimits.perChat.perMs)
})

test('a chat is shown a topic once, also after it was at rest', () => {
  const clock = createHandClock(beginning)
  const pacer = createPacer({ clock })
  const pace = pacer.chat({ id: 'chat' }, fakeLimits)
  expect(pace.claimTopic('closed')).toBe(true)
  for (let id = 0; id < 1000; id++) pacer.chat({ id: `${id}` }, fakeLimits).readyAt('ask')
  expect([pace.claimTopic('closed'), pacer.chat({ id: 'another' }, fakeLimits).claimTopic('closed')]).toEqual([
    false,
    true,
  ])
})
