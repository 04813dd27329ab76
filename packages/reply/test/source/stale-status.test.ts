import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { type ReadingSource, startReading } from '../../src/source/opencode1/reading.ts'

const sessionID = 'ses_1'
const place = { sessionID, directory: '/project' }
const stored = [
  { info: { id: 'msg_1', sessionID, role: 'user', time: { created: 1 } }, parts: [] },
  { info: { id: 'msg_2', sessionID, role: 'assistant', parentID: 'msg_1', time: { created: 2 } }, parts: [] },
]
const permission = { id: 'per_1', sessionID, permission: 'edit', patterns: ['a.txt'], metadata: {}, always: [] }

/** Reads a session whose newest step has not ended. `statuses`: what the server says, request by request. */
async function read(...statuses: readonly ('idle' | 'busy')[]) {
  let asked = 0
  const rest = {
    messages: async () => ({ data: stored }),
    todos: async () => [],
    children: async () => [],
    questions: async () => [],
    permissions: async () => [permission],
  }
  const options = {
    rest,
    places: { session: async () => place },
    working: async () => {
      const status = statuses[Math.min(asked++, statuses.length - 1)]
      return new Map(status === 'busy' ? [[sessionID, { status }]] : [])
    },
    clock: createHandClock(),
    onError: (error: Error) => expect.fail(error.message),
  }
  const session = await startReading(options as unknown as ReadingSource).session(place, { messageIDs: [] })
  return { status: session.working?.status, asks: session.asks.map(({ requestID }) => requestID), asked }
}

test('a run that begins between the readings of the status and of the messages is at work, and asks', async () => {
  expect(await read('idle', 'busy')).toEqual({ status: 'busy', asks: ['per_1'], asked: 2 })
})

test('a step that never ended in an idle session is left from a server that was stopped', async () => {
  expect(await read('idle', 'idle')).toEqual({ status: undefined, asks: [], asked: 2 })
})

test('a session that is at work is read once', async () => {
  expect(await read('busy')).toEqual({ status: 'busy', asks: ['per_1'], asked: 1 })
})
