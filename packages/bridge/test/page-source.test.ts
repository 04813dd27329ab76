import { emptyReply, type Reply, ReplyError, type ReplyObserver } from '@reply/core'
import { createHandClock } from '@reply/testing'
import type { OpenRun } from '@reply/web'
import { expect, test } from 'vitest'
import { createPageSource, type PageAgent } from '../src/pages/page-source.ts'
import { pageIDOf } from '../src/pages/run-id.ts'
import type { Execution } from '../src/state/execution.ts'

const execution: Execution = {
  id: 'abc234',
  ...{ server: 'home', sessionID: 'ses_1', phase: 'delivering', status: 'running', startedAt: 1000 },
  posted: { sessionID: 'ses_1', messageID: 'msg_1', text: 'Go on.', at: 1000 },
  prompt: {
    ...{ id: '7', channel: 'tg', chat: { id: '1' }, actor: { id: '1', name: 'Ann' }, text: 'Go on.', files: [] },
    ...{ isCommand: false, messageRef: { id: '7' }, receivedAt: 1000 },
  },
}

const working = (title: string, more: Partial<Reply> = {}): Reply => ({
  ...emptyReply('ses_1'),
  ...{ promptIDs: ['msg_1'], phase: 'working', title },
  ...more,
})

const settled = (title: string): Reply => working(title, { phase: 'settled', outcome: 'completed' })

/** A source before one stored run, and an agent whose replies the test makes. */
function createStage({ stored = execution, resumed }: { readonly stored?: Execution; readonly resumed?: Reply } = {}) {
  const clock = createHandClock()
  /** The observers of the reply that is open, by the watch that they came from. */
  const watches = new Set<readonly ReplyObserver[]>()
  const state: { newest: Reply; reads: number; resumes: number; error?: Error | undefined } = {
    newest: working('first'),
    reads: 0,
    resumes: 0,
  }
  const client: PageAgent = {
    watch: (_, { observe }) => {
      const observers = state.newest.phase === 'settled' ? [] : observe(state.newest)
      watches.add(observers)
      return () => watches.delete(observers)
    },
    reply: async () => {
      state.reads += 1
      if (state.error) throw state.error
      return state.newest
    },
    resume: async () => {
      state.resumes += 1
      if (!resumed) return { type: 'absent' }
      return { type: 'found', stream: { reply: resumed } }
    },
    diff: async () => [],
  }
  const source = createPageSource({
    state: { read: async (key) => (key.startsWith('execution/') ? JSON.stringify(stored) : undefined) },
    shardOf: () => '0',
    mirrors: { keyOf: ({ chat }) => chat.id },
    servers: new Map([['home', client]]),
    people: { personOf: () => undefined },
    answeredBy: { actorOf: () => undefined },
    fileReaders: () => async () => new Uint8Array(),
    act: async () => undefined,
    clock,
    onError: () => {},
  })
  const find = async (): Promise<OpenRun | undefined> =>
    await source.find(
      pageIDOf(stored),
      { person: { id: '', name: '' }, rights: { answer: false, stop: false } },
      new AbortController().signal,
    )
  const update = (reply: Reply): void => {
    state.newest = reply
    for (const observers of watches)
      for (const one of observers)
        one.phaseChanged?.({ type: 'phaseChanged', phase: reply.phase, before: 'working', reply })
  }
  return { clock, find, watches, state, update }
}

async function opened(run: Promise<OpenRun | undefined>): Promise<OpenRun> {
  const found = await run
  if (!found) throw new Error('There is no such run.')
  return found
}

const titleOf = ({ feed }: OpenRun): string | undefined => feed.newest?.reply.title

test('a reader who comes while the last other one leaves sees what changes', async () => {
  const { find, watches, update } = createStage()
  const first = await opened(find())
  const coming = find()
  first.release()
  const second = await opened(coming)
  update(working('second'))
  expect(titleOf(second)).toBe('second')
  second.release()
  expect(watches.size).toBe(0)
})

test('a run is watched once for all its readers, and not after the last one, also if it could not be opened', async () => {
  const { find, watches, state } = createStage()
  const both = await Promise.all([opened(find()), opened(find())])
  expect(watches.size).toBe(1)
  both[0].release()
  expect(watches.size).toBe(1)
  both[1].release()
  expect(watches.size).toBe(0)
  state.newest = settled('over')
  state.error = new ReplyError('unreachable', 'The server is down.')
  expect((await Promise.allSettled([find(), find()])).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect([watches.size, state.reads]).toEqual([0, 1])
  state.error = undefined
  expect(titleOf(await opened(find()))).toBe('over')
})

test('what comes shortly after the end of a run is shown, and then the stream ends', async () => {
  const { clock, find, watches, update } = createStage()
  const run = await opened(find())
  update(settled('over'))
  expect(run.feed.hasEnded).toBe(false)
  update(settled('a late title'))
  expect(titleOf(run)).toBe('a late title')
  await clock.advance(10_000)
  expect(run.feed.hasEnded).toBe(true)
  run.release()
  expect([watches.size, clock.pending]).toEqual([0, 0])
  const later = await opened(find())
  expect(later.feed.hasEnded).toBe(true)
  later.release()
})

test('a reader who leaves after the end of a run leaves no timer', async () => {
  const { clock, find, update } = createStage()
  const run = await opened(find())
  update(settled('over'))
  run.release()
  expect(clock.pending).toBe(0)
})

test.each([
  ['goes on', working],
  ['was the last', settled],
])('where the server makes the ids, a link does not show another run with the same text that %s', async (_, other) => {
  const posted = { sessionID: 'ses_1', text: 'Go on.', sameTextBefore: 0, at: 1000 }
  const { find, state } = createStage({
    stored: { ...execution, phase: 'done', status: 'complete', finishedAt: 2000, posted },
    resumed: settled('first'),
  })
  state.newest = { ...other('second'), prompt: { text: 'Go on.', parts: [], files: [] } }
  const run = await opened(find())
  expect(titleOf(run)).toBe('first')
})

test('a prompt that waits at the agent is not looked for again and again', async () => {
  const { find, state, watches } = createStage({
    stored: { ...execution, phase: 'posting' },
    resumed: working('stand-in', { phase: 'waiting' }),
  })
  state.newest = working('another run', { promptIDs: ['msg_0'] })
  for (let tries = 0; tries < 3; tries++) await expect(find()).rejects.toMatchObject({ status: 503 })
  expect([state.resumes, watches.size]).toEqual([0, 0])
})
