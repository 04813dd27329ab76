import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { steadyClock } from '../../src/clock.ts'
import { createRecheck } from '../../src/drive/connection/recheck.ts'
import { createEngine } from '../../src/drive/engine.ts'
import { type Reply, ReplyError, textOf } from '../../src/index.ts'
import { connectSource, type MessageRead, type SessionRead, type Source } from '../../src/source.ts'
import { busy, ended, message, text, user } from '../make.ts'
import { createMemorySource } from './memory-source.ts'

const directory = '/project'
const infoOf = (sessionID: string) => ({ sessionID, directory, title: undefined })

/** A session whose agent is at work on its first prompt. */
function atWork(sessionID: string): SessionRead {
  const heads = [user(`${sessionID}.u`, { sessionID }), message(`${sessionID}.a`, { sessionID })]
  const messages = heads.map((event): MessageRead => ({ head: event.message, parts: [] }))
  const read = { info: infoOf(sessionID), messages, isWhole: true, isSound: true, asks: [], todos: [], children: [] }
  return { ...read, working: { status: 'busy' } }
}

const rest = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

function open(calls: Partial<Source>) {
  const memory = createMemorySource({ canRead: true }, { session: async (place) => infoOf(place.sessionID), ...calls })
  const clock = createHandClock()
  const errors: ReplyError[] = []
  const opencode = connectSource(memory.source, { clock, random: () => 0, onError: (error) => errors.push(error) })
  const watched: string[] = []
  const observe = (reply: Reply) => {
    watched.push(reply.sessionID)
    return []
  }
  const watch = (sessionID: string) => opencode.watch({ sessionID }, { observe })
  return { opencode, watched, watch, advance: (ms: number) => clock.advance(ms, rest) }
}

test('a watch that begins while missed events are read observes a run at work', async () => {
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const session = async ({ sessionID }: { readonly sessionID: string }): Promise<SessionRead> => {
    if (sessionID === 'ses_1') await released
    return atWork(sessionID)
  }
  const { opencode, watched, watch } = open({ startReading: () => ({ working: async () => new Map(), session }) })
  watch('ses_1')
  await rest()
  watch('ses_2')
  await rest()
  expect(watched).toEqual([])
  release()
  await opencode.ready
  await rest()
  expect(watched.toSorted()).toEqual(['ses_1', 'ses_2'])
  await opencode.close()
})

test('what is being read when the connection breaks is part of the next gap', async () => {
  let release = (): void => {}
  const clock = createHandClock()
  const engine = createEngine(() => {}, 1)
  const readEvents = async () => {
    await new Promise<void>((resolve) => {
      release = resolve
    })
    return []
  }
  const recheck = createRecheck({ engine, clock: steadyClock(clock), onError: () => {} }, { readEvents })
  recheck.start([{ sessionID: 'ses_1', directory, gap: true, since: 7 }], undefined)
  await clock.advance(2000, rest)
  expect(recheck.unreadSince()).toBe(7)
  release()
  await rest()
  expect(recheck.unreadSince()).toBeUndefined()
})

test("a deleted sub-agent does not keep its parent's run from being aborted", async () => {
  const working = new Map([['ses_child', { status: 'busy' as const }]])
  const { opencode, advance } = open({
    children: async ({ sessionID }) => (sessionID === 'ses_1' ? [{ ...infoOf('ses_child'), parentID: 'ses_1' }] : []),
    working: async () => working,
    abort: async ({ sessionID }) => {
      if (sessionID !== 'ses_child') return
      working.clear()
      throw new ReplyError('gone', 'The sub-agent was deleted.')
    },
    startReading: () => ({
      working: async () => new Map(),
      session: async (place) => ({ ...atWork(place.sessionID), working: undefined }),
    }),
  })
  await opencode.ready
  const outcomes: unknown[] = []
  opencode.abort('ses_1').then(
    () => outcomes.push('stopped'),
    (error) => outcomes.push(error),
  )
  await advance(30_000)
  expect(outcomes).toEqual(['stopped'])
  await opencode.close()
})

test('the text of a stream that was left ends with what was there', async () => {
  const memory = createMemorySource()
  const opencode = connectSource(memory.source, { clock: createHandClock() })
  const stream = opencode.prompt({ text: 'Hello.' })
  await rest()
  const pieces = stream.text[Symbol.asyncIterator]()
  memory.send(user('m1.u', { sessionID: 'ses_1' }), busy('ses_1'), message('m1.a', { sessionID: 'ses_1' }))
  memory.send(text('m1.a', 'One', { sessionID: 'ses_1' }))
  expect(await pieces.next()).toEqual({ done: false, value: 'One' })
  stream.leave()
  memory.send(text('m1.a', 'One two', { sessionID: 'ses_1', status: 'sealed' }), ended('m1.a', { sessionID: 'ses_1' }))
  await expect.poll(() => stream.reply && textOf(stream.reply)).toBe('One two')
  expect(await pieces.next()).toEqual({ done: true, value: undefined })
  await opencode.close()
})
