import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { textOf } from '../../src/index.ts'
import { connectSource } from '../../src/source.ts'
import { busy, ended, idle, message, session, task, text, user } from '../make.ts'
import { createMemorySource } from '../source/memory-source.ts'

const sessionID = 'ses_1'

/** A prompt whose reply hears a status of the run before, while its server says that the session is idle. */
async function stage() {
  const nothing = { info: { sessionID }, messages: [], isWhole: true, isSound: true, working: undefined }
  const startReading = () => ({
    working: async () => new Map(),
    session: async () => ({ ...nothing, asks: [], todos: [], children: [] }),
  })
  const memory = createMemorySource({ canRead: true }, { startReading })
  const clock = createHandClock()
  const opencode = connectSource(memory.source, { clock, random: () => 0 })
  await opencode.ready
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 30; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const stream = opencode.prompt({ text: 'Hello.' })
  await rest()
  memory.send(busy(sessionID))
  await rest()
  return { memory, opencode, stream, rest, advance: (ms: number) => clock.advance(ms, rest) }
}

test('a posted prompt is not taken for completed by a late status of the run before', async () => {
  const { memory, opencode, stream, rest, advance } = await stage()
  await advance(5000)
  expect(stream.reply?.outcome).toBeUndefined()
  memory.send(user('m1.u', { sessionID }), ended('m1', { sessionID }))
  memory.send(text('m1', 'Hi.', { sessionID, status: 'sealed' }), idle(sessionID))
  await rest()
  expect(textOf(await stream.result)).toBe('Hi.')
  await opencode.close()
})

test('a posted prompt for which nothing ran fails, also after a late status of the run before', async () => {
  const { opencode, stream, advance } = await stage()
  await advance(60_000)
  expect(await stream.result).toMatchObject({ outcome: 'failed', error: { name: 'NeverStarted' } })
  await opencode.close()
})

test('a posted prompt for which nothing ran fails, also beside a sub-agent in the background', async () => {
  const { memory, opencode, stream, rest, advance } = await stage()
  const ofChild = { sessionID: 'child' }
  const call = task('m1', 'child', { sessionID, status: 'completed', input: { background: true } })
  memory.send(user('m1.u', { sessionID }), message('m1', { sessionID }), call)
  memory.send(session('child', { parentID: sessionID }), user('cu', ofChild), message('c1', ofChild))
  memory.send(ended('m1', { sessionID }), idle(sessionID))
  expect((await stream.result).outcome).toBe('completed')
  memory.send(text('c1', 'I look.', ofChild))
  await rest()
  const second = opencode.prompt({ text: 'Two.', sessionID })
  await advance(60_000)
  const reply = await second.result
  expect(reply).toMatchObject({ outcome: 'failed', error: { name: 'NeverStarted' } })
  expect(reply.children.map((child) => child.reply.phase)).toEqual(['working'])
  await opencode.close()
})
