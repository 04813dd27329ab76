import { observerOf, type Reply, type ReplyObserver, replay } from '@reply/core'
import { createHandClock, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'
import { createMirrors } from '../src/config/mirrors.ts'
import { createEndedRuns } from '../src/runs/ended-runs.ts'
import type { BridgeServices } from '../src/runs/services.ts'
import { passOn } from '../src/runs/show-run.ts'
import { createUnpromptedRuns, isUnprompted } from '../src/runs/unprompted-runs.ts'
import type { Execution } from '../src/state/execution.ts'

/** The end of what a session of a recording did by itself. */
async function wakeOf(): Promise<Reply> {
  const ends: Reply[] = []
  const observe = () => [observerOf(({ reply }) => void (reply.phase === 'settled' && ends.push(reply)))]
  await replay(readRecording({ version: '1.18.33', scenario: 'subagent-background' }).bytes, { observe })
  return ends.findLast(isUnprompted) ?? expect.fail()
}

test('a store that fails for good is asked less and less often, and at last it is said what is not shown', async () => {
  const reply = await wakeOf()
  const clock = createHandClock()
  const tries: number[] = []
  const errors: Error[] = []
  let watched: (reply: Reply) => readonly ReplyObserver[] = () => []
  const client = {
    watch: (_: object, { observe }: { readonly observe: typeof watched }) => {
      watched = observe
      return () => {}
    },
    ready: Promise.resolve(),
    reply: async () => undefined,
  }
  const mirrors = createMirrors([])
  const services = {
    ...{ servers: new Map([['home', client]]), channels: { has: () => true }, config: { servers: {} } },
    registry: {
      newID: async () => 'abc234',
      writeExecution: () => ({ type: 'put', key: 'execution/1', value: '' }),
      writeNewest: () => [],
    },
    routes: { routeOf: async () => undefined, writeAuthor: () => ({ type: 'put', key: 'author/1', value: '' }) },
    state: {
      commit: async () => {
        tries.push(clock.now())
        throw new Error('The disk is full.')
      },
    },
    runs: { isOfPromptedRun: () => false },
    ...{ clock, mirrors, onError: (error: Error) => errors.push(error) },
  } as unknown as BridgeServices
  const wakes = createUnpromptedRuns(services, createEndedRuns(1))
  const prompt = { channel: 'tg', chat: { id: '1' } }
  const last = { prompt, server: 'home', sessionID: reply.sessionID, phase: 'done', status: 'complete' }
  await wakes.restoreRuns([last as unknown as Execution])
  for (const observer of watched(reply)) passOn(observer, { type: 'replySettled', outcome: 'completed', reply })
  const isShown = (): boolean => wakes.isShown(reply, prompt)
  expect(isShown()).toBe(true)
  await clock.advance(3_600_000, async () => await new Promise((resolve) => setImmediate(resolve)))
  const pauses = tries.slice(1).map((at, index) => (at - (tries[index] ?? 0)) / 1000)
  expect(pauses.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  expect(tries).toHaveLength(15)
  // Otherwise the run of a prompt that joins it would show nothing.
  expect(isShown()).toBe(false)
  expect(errors.at(-1)?.message).toBe(
    `An unprompted run of session ${reply.sessionID} is not shown: the state could not be written 15 times. The disk is full.`,
  )
  wakes.stop()
})
