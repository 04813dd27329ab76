import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createOpenDirectories } from '../../src/drive/connection/watch.ts'
import { createEngine } from '../../src/drive/engine.ts'
import { connect, type ReplyEvent } from '../../src/index.ts'
import { busy, ended, idle, session, settle, user } from '../make.ts'

const runIn = (directory: string, sessionID: string): readonly ReplyEvent[] => [
  session(sessionID, { directory }),
  user(`${sessionID}.u`, { sessionID }),
  busy(sessionID),
  ended(`${sessionID}.a`, { sessionID }),
]

function stage() {
  let isLive = true
  const engine = createEngine(() => {}, 10)
  const directories = createOpenDirectories(
    engine,
    () => '/home',
    () => isLive,
  )
  return { engine, directories, lose: () => (isLive = false) }
}

test('a directory is kept while a reply is open there, then dropped', () => {
  const { engine, directories } = stage()
  engine.apply([...runIn('/a', 's1'), ...runIn('/a', 's2'), ...runIn('/b', 's3')])
  expect(directories()).toEqual(['/home', '/a', '/b'])
  engine.apply([idle('s1'), idle('s3')])
  expect(directories()).toEqual(['/home', '/a'])
  engine.apply([idle('s2')])
  expect(directories()).toEqual(['/home'])
})

test('a directory is kept if its reply was lost without a connection', () => {
  const { engine, directories, lose } = stage()
  engine.apply(runIn('/a', 's1'))
  lose()
  engine.apply([settle('lost', 's1')])
  expect(directories()).toEqual(['/home', '/a'])
})

test('a reconnect makes as many requests after runs in 1,000 directories as after one', async () => {
  const counts = [await requestsAfter(1), await requestsAfter(1000)]
  expect(counts[1]).toBe(counts[0])
  expect(counts[1]).toBeLessThan(20)
})

/** The number of requests of a reconnect after this many runs, each in its own directory. */
async function requestsAfter(count: number): Promise<number> {
  const streams: ReadableStreamDefaultController<Uint8Array>[] = []
  const clock = createHandClock()
  let requests = 0
  const push = (value: object): void =>
    streams.at(-1)?.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(value)}\n\n`))
  const opencode = connect({
    url: 'http://many',
    clock,
    random: () => 0,
    fetch: async (input) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      if (pathname === '/global/event') {
        const body = new ReadableStream<Uint8Array>({ start: (controller) => void streams.push(controller) })
        push({ payload: { type: 'server.connected', properties: {} } })
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      }
      requests += 1
      if (pathname === '/global/health') return Response.json({ healthy: true, version: '1.18.33' })
      return Response.json(pathname === '/session/status' ? {} : [])
    },
  })
  let settled = 0
  const replySettled = (): void => {
    settled += 1
  }
  opencode.watch({}, { observe: () => [{ replySettled }] })
  await opencode.ready
  for (let at = 0; at < count; at++) for (const payload of wireRun(at)) push({ directory: `/project/${at}`, payload })
  while (settled < count) await new Promise((resolve) => setImmediate(resolve))
  requests = 0
  streams.at(-1)?.close()
  while (streams.length < 2) await clock.advance(100, () => new Promise((resolve) => setImmediate(resolve)))
  for (let calm = 0, before = -1; calm < 20; before = requests) {
    await new Promise((resolve) => setImmediate(resolve))
    calm = before === requests ? calm + 1 : 0
  }
  await opencode.close()
  return requests
}

function wireRun(at: number): readonly object[] {
  const sessionID = `ses_${at}`
  const time = { created: 1000 + at }
  const info = { id: sessionID, directory: `/project/${at}`, time }
  const head = { sessionID, time }
  return [
    { type: 'session.created', properties: { info } },
    { type: 'message.updated', properties: { info: { ...head, id: `msg_${at}_1`, role: 'user' } } },
    { type: 'session.status', properties: { sessionID, status: { type: 'busy' } } },
    {
      type: 'message.updated',
      properties: {
        info: {
          ...head,
          id: `msg_${at}_2`,
          role: 'assistant',
          finish: 'stop',
          time: { ...time, completed: 2000 + at },
        },
      },
    },
    { type: 'session.status', properties: { sessionID, status: { type: 'idle' } } },
    { type: 'session.idle', properties: { sessionID } },
  ]
}
