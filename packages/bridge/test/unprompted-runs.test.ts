import { emptyReply, observerOf, type PermissionAsk, type Reply, ReplyError, replay } from '@reply/core'
import { createHandClock, type HandClock, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'
import { createMirrors } from '../src/config/mirrors.ts'
import { type ActiveRun, type ActiveRuns, createActiveRuns } from '../src/runs/active-runs.ts'
import { createEndedRuns } from '../src/runs/ended-runs.ts'
import type { BridgeServices } from '../src/runs/services.ts'
import { createSessionReads } from '../src/runs/session-reads.ts'
import { passOn } from '../src/runs/show-run.ts'
import { createUnpromptedRuns, isUnprompted, type UnpromptedRuns } from '../src/runs/unprompted-runs.ts'
import type { Execution } from '../src/state/execution.ts'

/** The end of what a session of a recording did by itself. */
async function wakeOf(): Promise<Reply> {
  const ends: Reply[] = []
  const observe = () => [observerOf(({ reply }) => void (reply.phase === 'settled' && ends.push(reply)))]
  await replay(readRecording({ version: '1.18.33', scenario: 'subagent-background' }).bytes, { observe })
  return ends.findLast(isUnprompted) ?? expect.fail()
}

/** Watches a session that did something by itself, beside these runs and on this state. */
async function watchedBeside(
  reply: Reply,
  { runs, commit, isElsewhere = false, clock = createHandClock(), onError = () => {} }: Beside,
): Promise<{ readonly wakes: UnpromptedRuns; readonly settle: () => void; readonly isShown: () => boolean }> {
  const client = { ready: Promise.resolve(), reply: async () => undefined }
  const mirrors = createMirrors([])
  const services = {
    ...{ servers: new Map([['home', client]]), channels: { has: () => true }, config: { servers: {} } },
    registry: {
      newID: async () => 'abc234',
      writeExecution: () => ({ type: 'put', key: 'execution/1', value: '' }),
      writeNewest: () => [],
      isSessionElsewhere: async () => isElsewhere,
    },
    routes: { routeOf: async () => undefined, writeAuthor: () => ({ type: 'put', key: 'author/1', value: '' }) },
    ...{ state: { commit }, runs, sessionReads: createSessionReads(), clock, mirrors, onError },
  } as unknown as BridgeServices
  const wakes = createUnpromptedRuns(services, createEndedRuns(1))
  const last = { prompt, server: 'home', sessionID: reply.sessionID, phase: 'done', status: 'complete' }
  await wakes.restoreRuns([last as unknown as Execution])
  const settle = (): void => {
    for (const observer of wakes.observe('home', reply))
      passOn(observer, { type: 'replySettled', outcome: 'completed', reply })
  }
  return { wakes, settle, isShown: () => wakes.isShown(reply, prompt) }
}

interface Beside {
  readonly runs: Pick<ActiveRuns, 'isOfPromptedRun' | 'isFindingRun' | 'followed'>
  readonly commit: () => Promise<boolean>
  /** Whether a chat of another shard used the session since. Default: no. */
  readonly isElsewhere?: boolean
  readonly clock?: HandClock
  readonly onError?: (error: Error) => void
}

const prompt = { channel: 'tg', chat: { id: '1' }, actor: { id: '1', name: 'Ann' }, messageRef: { id: '1' } }

test('a store that fails for good is asked less and less often, and at last it is said what is not shown', async () => {
  const reply = await wakeOf()
  const clock = createHandClock()
  const tries: number[] = []
  const errors: Error[] = []
  const { wakes, settle, isShown } = await watchedBeside(reply, {
    runs: { isOfPromptedRun: () => false, isFindingRun: () => false, followed: () => [] },
    commit: async () => {
      tries.push(clock.now())
      throw new Error('The disk is full.')
    },
    ...{ clock, onError: (error) => errors.push(error) },
  })
  settle()
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

test.each([
  { what: 'is not shown if it is of that run', isOfRun: true },
  { what: 'is shown if it is not of that run', isOfRun: false },
])('what ended while a run of an earlier process is looked for $what', async ({ isOfRun }) => {
  const reply = await wakeOf()
  const runs = createActiveRuns(createMirrors([]))
  let found: Reply | undefined
  runs.addUntilEnded({
    execution: () => ({ prompt, sessionID: reply.sessionID, posted: { sessionID: reply.sessionID } }),
    stream: () => found && { reply: found },
    ...{ delivered: new Promise(() => {}), ended: new Promise(() => {}) },
  } as unknown as ActiveRun)
  const { wakes, settle, isShown } = await watchedBeside(reply, {
    runs,
    commit: async () => await new Promise(() => {}),
  })
  // Its last events came before the read that finds the run.
  settle()
  wakes.decideAgain()
  expect(isShown()).toBe(false)
  found = isOfRun ? reply : { ...reply, startedAt: 1, messages: [] }
  wakes.decideAgain()
  expect(isShown()).toBe(!isOfRun)
  wakes.stop()
})

test('what a session does by itself is not shown in a chat whose shard no longer has the session', async () => {
  const reply = await wakeOf()
  const commits: boolean[] = []
  for (const isElsewhere of [true, false]) {
    const { wakes, settle } = await watchedBeside(reply, {
      runs: { isOfPromptedRun: () => false, isFindingRun: () => false, followed: () => [] },
      commit: async () => {
        commits.push(isElsewhere)
        return await new Promise(() => {})
      },
      isElsewhere,
    })
    settle()
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    wakes.stop()
  }
  expect(commits).toEqual([false])
})

test('the shards of a process read a few sessions of a server at a time, each once, and none after they stopped', async () => {
  const sessionReads = createSessionReads()
  const [read, ends]: [string[], (() => void)[]] = [[], []]
  const client = {
    ready: Promise.resolve(),
    reply: async (sessionID: string) => {
      read.push(sessionID)
      await new Promise<void>((resolve) => ends.push(resolve))
    },
  }
  const shards = ['a', 'b'].map((name) => {
    const services = {
      ...{ servers: new Map([['home', client]]), sessionReads, clock: createHandClock(), mirrors: createMirrors([]) },
    } as unknown as BridgeServices
    const wakes = createUnpromptedRuns(services, createEndedRuns(1))
    const last = { prompt, server: 'home', phase: 'done', status: 'complete' }
    const runs = Array.from({ length: 10 }, (_, index) => ({ ...last, sessionID: `${name}${index}` }))
    return { wakes, restored: wakes.restoreRuns(runs as unknown as readonly Execution[]) }
  })
  await expect.poll(() => read).toHaveLength(8)
  for (const end of ends.splice(0, 5)) end()
  await expect.poll(() => read).toHaveLength(13)
  shards[1]?.wakes.stop()
  for (const end of ends.splice(0)) end()
  await Promise.all(shards.map(({ restored }) => restored))
  expect(read.toSorted()).toEqual([...Array.from({ length: 10 }, (_, index) => `a${index}`), 'b7', 'b8', 'b9'])
})

const ask: PermissionAsk = {
  ...{ type: 'permission', requestID: 'per_1', sessionID: 'ses_1', directory: '/shop', path: ['ses_1'] },
  ...{ status: 'pending', permission: 'bash', patterns: ['npm test'], always: [], title: 'npm test', metadata: {} },
}
const working: Reply = { ...emptyReply('ses_1'), phase: 'working' }
const step = { id: 'm1', role: 'assistant', parts: [] } as unknown as Reply['messages'][number]

test.each([
  { what: 'its prompt', stored: { startedBy: 'a' }, reply: { ...working, promptIDs: ['a'] }, isSame: true },
  { what: 'another prompt', stored: { startedBy: 'a' }, reply: { ...working, promptIDs: ['b'] }, isSame: false },
  {
    what: 'the ask that still waits, without its prompt',
    stored: { startedBy: 'a', asks: [ask] },
    reply: { ...working, promptIDs: ['b'], asks: [ask] },
    isSame: true,
  },
  {
    what: 'a step, after the ask that began it was answered',
    stored: { startedBy: 'per_1', names: ['m1'] },
    reply: { ...working, messages: [step] },
    isSame: true,
  },
  {
    what: 'a step, of a row from before',
    stored: { startedBy: 'm1' },
    reply: { ...working, messages: [step] },
    isSame: true,
  },
])('a followed run of an earlier process is recognized by $what: $isSame', async ({ stored, reply, isSame }) => {
  const { wakes, watched, closed } = await restoredFollow(stored, async () => reply)
  expect([watched, closed]).toEqual(isSame ? [['ses_1'], []] : [[], ['ses_1']])
  wakes.stop()
})

test.each([
  ['refused', []],
  ['unreachable', []],
  ['malformed', []],
  ['gone', ['ses_1']],
] as const)('a followed run whose session can’t be read (%s) is closed only if it is gone', async (type, ends) => {
  let isFailing = true
  const { wakes, watched, closed, clock } = await restoredFollow({ startedBy: 'a' }, async () => {
    if (isFailing) throw new ReplyError(type, 'No.')
    return { ...working, promptIDs: ['a'] }
  })
  await clock.advance(10_000, turns)
  expect([watched, closed]).toEqual([[], ends])
  isFailing = false
  await clock.advance(10_000, turns)
  expect([watched, closed]).toEqual(ends.length > 0 ? [[], ends] : [['ses_1'], []])
  wakes.stop()
})

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Restores a run that was started elsewhere. Tells the sessions that are watched then, and those whose messages were closed. */
async function restoredFollow(stored: Partial<Execution>, read: () => Promise<Reply>) {
  const clock = createHandClock()
  const [watched, closed]: [string[], string[]] = [[], []]
  const watch = ({ sessionID = '' }: { readonly sessionID?: string }) => {
    watched.push(sessionID)
    return () => {}
  }
  const client = { ready: Promise.resolve(), reply: read, watch }
  const services = {
    ...{
      servers: new Map([['home', client]]),
      config: { servers: {}, router: { progress: {} } },
      clock,
      mirrors: createMirrors([]),
      people: {},
    },
    channels: {
      has: () => true,
      sinkFields: () => ({}),
      sinkFor: () => ({ settled: async () => ({ undelivered: [] }) }),
    },
    registry: { writeExecution: ({ sessionID }: Execution) => closed.push(sessionID ?? '') },
    notices: { endAsks: async () => {} },
    state: { commit: async () => true, withRetries: async (call: () => unknown) => await call() },
    ...{
      runs: createActiveRuns(createMirrors([])),
      sessionReads: createSessionReads(),
      fileReaders: () => undefined,
      pages: () => undefined,
    },
    onError: (error: Error) => expect.fail(error.message),
  } as unknown as BridgeServices
  const wakes = createUnpromptedRuns(services, createEndedRuns(1))
  const row = { prompt, server: 'home', sessionID: 'ses_1', phase: 'delivering', status: 'running', followed: 'asks' }
  void wakes.restoreRuns([{ ...row, ...stored } as unknown as Execution])
  await turns()
  return { wakes, watched, closed, clock }
}
