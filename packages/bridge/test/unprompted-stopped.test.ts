import { emptyReply, observerOf, type PermissionAsk, type Reply, replay } from '@reply/core'
import type { Delivery } from '@reply/sink'
import { withResolvers } from '@reply/sink/internal'
import { createHandClock, readRecording } from '@reply/testing'
import { expect, test, vi } from 'vitest'
import { createMirrors } from '../src/config/mirrors.ts'
import type { ActiveRun } from '../src/runs/active-runs.ts'
import { createEndedRuns } from '../src/runs/ended-runs.ts'
import type { BridgeServices } from '../src/runs/services.ts'
import { passOn } from '../src/runs/show-run.ts'
import { beginUnpromptedRun, isUnprompted, type UnpromptedReply } from '../src/runs/unprompted-runs.ts'
import type { Execution } from '../src/state/execution.ts'
import { createTimers } from '../src/timers.ts'

/** What a session of a recording did by itself: how it began and how it ended. */
async function wakeOf(): Promise<{ readonly begun: Reply; readonly ended: Reply }> {
  const all: Reply[] = []
  const observe = () => [observerOf(({ reply }) => void (isUnprompted(reply) && all.push(reply)))]
  await replay(readRecording({ version: '1.18.33', scenario: 'subagent-background' }).bytes, { observe })
  const ended = all.findLast(({ phase }) => phase === 'settled') ?? expect.fail()
  return { begun: all.find(({ phase }) => phase !== 'settled') ?? expect.fail(), ended }
}

/** Begins a wake, and tells the phases that are written down. */
async function begun(reply: Reply, isStopping: () => boolean) {
  const clock = createHandClock()
  const phases: string[] = []
  const names: (readonly (string | undefined)[])[] = []
  const errors: Error[] = []
  const runs: ActiveRun[] = []
  const shown = withResolvers<Delivery>()
  const write = ({ phase, status, startedBy, names: more = [] }: Execution): void => {
    phases.push(`${phase} ${status}`)
    names.push([startedBy, ...more])
  }
  const none = (): void => {}
  const services = {
    ...{
      clock,
      mirrors: createMirrors([]),
      people: {},
      emit: none,
      config: { servers: {}, router: { timeoutMs: 60_000, progress: {} } },
    },
    registry: {
      newID: async () => 'abc234',
      writeExecution: write,
      writeLog: () => undefined,
      writeNewest: () => [],
      writesAtEnd: async () => [],
      followReply: () => none,
    },
    routes: { routeOf: async () => undefined, writeAuthor: none },
    fileReaders: () => undefined,
    pages: () => undefined,
    failed: { findMissing: () => [], write: () => [], reportAll: none },
    runs: { addUntilEnded: (run: ActiveRun) => runs.push(run) },
    channels: { sinkFields: () => ({}), sinkFor: () => ({ settled: () => shown.promise }) },
    ...{
      state: { commit: async () => true, withRetries: (call: () => unknown) => call() },
      asks: { observerFor: () => ({}) },
      notices: { observerFor: () => ({}), writesAtEnd: async () => [] },
      onError: (error: Error) => errors.push(error),
    },
  } as unknown as BridgeServices
  const prompt = { channel: 'tg', chat: { id: '1' }, actor: { id: '1', name: 'Ann' }, messageRef: { id: '1' } }
  const unprompted = { reply, client: {}, last: { prompt, server: 'home', sessionID: reply.sessionID } }
  const observer = await beginUnpromptedRun(services, unprompted as unknown as UnpromptedReply, {
    ...{ runObservers: createEndedRuns(1).createRunObservers(), timers: createTimers(clock), isStopping },
  })
  const settle = (end: Reply): void =>
    passOn(observer, { type: 'replySettled', outcome: end.outcome ?? 'completed', reply: end })
  return { phases, names, errors, run: runs[0] ?? expect.fail(), shown, settle }
}

const delivery: Delivery = { shown: 1, undelivered: [], doubtful: 0, calls: 1, rateLimited: 0 }

test('what a session does by itself is written down to its end', async () => {
  const wake = await wakeOf()
  const { phases, run, shown, settle } = await begun(wake.begun, () => false)
  settle(wake.ended)
  shown.resolve(delivery)
  await run.ended
  expect([phases.at(0), phases.at(-1)]).toEqual(['delivering running', 'done complete'])
})

test('an end that comes while the bridge stops is left to the next process', async () => {
  const wake = await wakeOf()
  let isStopping = false
  const { phases, errors, run, shown, settle } = await begun(wake.begun, () => isStopping)
  const before = [...phases]
  isStopping = true
  settle(wake.ended)
  shown.resolve(delivery)
  await run.ended
  expect(phases).toEqual(before)
  expect(errors).toEqual([])
})

test('a stop while the end is shown leaves the showing to the next process', async () => {
  const wake = await wakeOf()
  let isStopping = false
  const { phases, errors, run, shown, settle } = await begun(wake.begun, () => isStopping)
  settle(wake.ended)
  await vi.waitUntil(() => phases.at(-1) === 'delivering complete')
  isStopping = true
  shown.resolve(delivery)
  await run.ended
  expect(phases.at(-1)).toBe('delivering complete')
  expect(errors).toEqual([])
})

test('an ask that began a run is of no use once it is answered, so the id of the first step is stored beside it', async () => {
  const { ended } = await wakeOf()
  const ask = { type: 'permission', requestID: 'per_1', status: 'pending', permission: 'bash' } as PermissionAsk
  const begin: Reply = { ...emptyReply('ses_1'), phase: 'working', asks: [ask] }
  const { names, run, shown, settle } = await begun(begin, () => false)
  settle({ ...begin, phase: 'settled', outcome: 'completed', asks: [], messages: ended.messages })
  shown.resolve(delivery)
  await run.ended
  expect([names.at(0), names.at(-1)]).toEqual([['per_1'], ['per_1', ended.messages[0]?.id]])
})
