import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { textOf } from '../../src/index.ts'
import { connectSource } from '../../src/source.ts'
import { busy, ended, idle, text, user } from '../make.ts'
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
