import { createHandClock, createRecordedServer, openCode2Version } from '@reply/testing'
import { expect, test } from 'vitest'
import { connect } from '../../src/index.ts'
import { watchAll } from '../drive/stage.ts'
import { readTape } from './recorded.ts'

const aborted = { type: 'aborted', message: 'Step interrupted' }

/** What a stopped server stored after the connection broke: the step's end, and in its log who interrupted it. */
test.each([
  ['shutdown', 'lost', undefined],
  ['user', 'aborted', 'MessageAbortedError'],
])('a run that ended unheard by %s is %s', async (reason, outcome, error) => {
  const server = createRecordedServer({ bytes: readTape('stopped').bytes, version: openCode2Version })
  const clock = createHandClock()
  let isStopped = false
  const logs: string[] = []
  const call: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const { pathname, searchParams } = new URL(request.url)
    if (pathname.endsWith('/log')) {
      logs.push(searchParams.get('after') ?? '')
      const end = { type: 'session.execution.interrupted', data: { reason } }
      return new Response(`data: ${JSON.stringify(end)}\n\ndata: {"type":"log.synced"}\n\n`)
    }
    const response = await server.fetch(request)
    if (!isStopped || !pathname.endsWith('/message')) return response
    const { data, cursor } = JSON.parse(await response.text())
    const [last, ...before] = data
    const stopped = {
      ...last,
      time: { ...last.time, completed: last.time.created + 1 },
      finish: 'error',
      error: aborted,
    }
    return Response.json({ data: [stopped, ...before], cursor })
  }
  const opencode = connect({ url: 'http://recorded', fetch: call, clock, random: () => 0 })
  const replies = watchAll(opencode)
  await opencode.ready
  const rest = async (): Promise<void> => {
    for (let calm = 0; calm < 8; calm = server.answering === 0 ? calm + 1 : 0)
      await new Promise<void>((resolve) => setImmediate(resolve))
  }
  server.publish(server.types.lastIndexOf('session.text.delta') + 1)
  await rest()
  isStopped = true
  server.publish(server.length)
  await rest()
  await clock.advance(10_000, rest)
  expect(replies.map((reply) => [reply.outcome, reply.messages.at(-1)?.error?.name])).toEqual([[outcome, error]])
  expect(logs.length).toBeGreaterThan(0)
  expect(logs.every((after) => Number(after) > 0)).toBe(true)
  await opencode.close()
})
