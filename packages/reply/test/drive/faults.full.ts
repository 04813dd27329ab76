import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Faulty, type LivePlan, type LivePlayed, openWhole } from './faulty.ts'
import {
  playBeside,
  problemsOfCuts,
  problemsOfLive,
  problemsOfRaces,
  problemsOfSeeds,
  problemsOfSilence,
  uncertainMs,
} from './live-plans.ts'
import { allowing, answering, approveLate, firstAsk, isTouched, restored, typesOf } from './scenes.ts'

vi.setConfig({ testTimeout: 900_000 })

let faulty: Faulty
let whole: LivePlayed

beforeAll(async () => {
  ;({ faulty, whole } = await openWhole())
})
afterAll(async () => await faulty.close())

test('a run that is cut after every twelfth of its events is the same', async () => {
  expect(await problemsOfCuts(faulty, { whole, first: 1, step: 12 })).toEqual([])
})

test.each([1, 5])('a stream that falls silent after event %d is noticed and reconnects', async (events) => {
  expect(await problemsOfSilence(faulty, whole, events)).toEqual([])
})

test.each([
  ['the session is created', 'session.created'],
  ['the prompt arrives', 'message.updated'],
])('an event after `connected` that the stream does not carry yet is not missed: %s', async (_, event) => {
  const faults = [{ type: 'drop', event, times: 1, forMs: uncertainMs, connection: 1 }] as const
  expect(await problemsOfLive(faulty, { faults }, whole)).toEqual([])
})

test('an ask that is pending across a reconnect is asked once and answered once', async () => {
  const plan: LivePlan = {
    script: 'question',
    act: async ({ stream, proxy, opencode }) => {
      const pending = await firstAsk(stream)
      proxy.cut()
      await restored(stream)
      await opencode.answer(pending, [['Blue']])
      await expect(opencode.answer(pending, [['Red']])).rejects.toMatchObject({ type: 'already-resolved' })
    },
  }
  const { played, problems } = await playBeside(faulty, { plan, without: answering })
  expect(problems).toEqual([])
  expect(typesOf(played.changes, 'questionAsked', 'questionReplied', 'askWithdrawn')).toHaveLength(2)
})

test('an ask of a sub-agent is answered after a reconnect', async () => {
  const plan: LivePlan = {
    script: 'child',
    act: async ({ stream, proxy, opencode }) => {
      const pending = await firstAsk(stream)
      proxy.cut('end')
      await restored(stream)
      await opencode.answer(pending, 'once')
    },
  }
  const { played, problems } = await playBeside(faulty, { plan, without: allowing })
  expect(problems).toEqual([])
  expect(typesOf(played.changes, 'permissionAsked', 'permissionReplied')).toHaveLength(2)
  expect([isTouched(faulty), played.reply.asks[0]?.path.length]).toEqual([true, 2])
})

test('an abort that races the end settles the reply once, either way', async () => {
  const eventsBefore = [12, 8, 4, 2, 1, 0, -1]
  expect(await problemsOfRaces(faulty, eventsBefore)).toEqual([])
})

test.each(['late', 'lateChild'] as const)('an abort makes a late approval ineffective (%s)', async (script) => {
  expect(await approveLate(faulty, script)).toEqual([])
})

test('6 random plans from seed 1 on, one with a server restart, lose and duplicate nothing', async () => {
  expect(await problemsOfSeeds(faulty, { whole, first: 1, count: 6, restarts: 1 })).toEqual([])
})
