import { createHandClock, createRecordedServer, openCode2Version } from '@reply/testing'
import { expect, test } from 'vitest'
import { connect } from '../../src/index.ts'
import { watchAll } from '../drive/stage.ts'
import { sourceAt } from '../source/live-stage.ts'
import { readTape } from './recorded.ts'

test('a prompt that waited before anyone connected has its words as soon as it begins', async () => {
  const { bytes, frames } = readTape('queue-failed')
  const server = createRecordedServer({ bytes, version: openCode2Version })
  const clock = createHandClock()
  const opencode = connect({ url: 'http://recorded', fetch: server.fetch, clock })
  server.publish(server.types.lastIndexOf('session.input.admitted') + 1)
  const replies = watchAll(opencode)
  await opencode.ready
  const rest = async (): Promise<void> => {
    for (let calm = 0; calm < 3; calm = server.answering === 0 ? calm + 1 : 0)
      await new Promise<void>((resolve) => setImmediate(resolve))
  }
  await rest()
  server.publish(server.length)
  await rest()
  const [first = '', second = ''] = frames.flatMap(({ type, data }) =>
    type === 'session.input.admitted' ? [String(data.inputID)] : [],
  )
  expect(replies.map(({ promptIDs, prompt }) => [promptIDs, prompt?.text])).toEqual([
    [[first], expect.stringContaining('[scenario:queue-failed]')],
    [[second], expect.stringContaining('[scenario:queue-failed/second]')],
  ])
  await opencode.close()
})

/** The calls of 2.0, which the preview build lacks, in front of a recorded server. */
function stableAt(server: { readonly fetch: typeof fetch }, status: number) {
  const deleted: string[] = []
  const call: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const path = new URL(request.url).pathname
    const inbox = /^(.*)\/inbox(?:\/(msg_\w+))?$/.exec(path)
    if (!inbox) return path.endsWith('/pending') ? new Response(null, { status: 404 }) : await server.fetch(request)
    if (request.method === 'DELETE') {
      if (status === 204) deleted.push(inbox[2] ?? '')
      return new Response(null, { status })
    }
    const { data } = JSON.parse(await (await server.fetch(`http://recorded${inbox[1]}/pending`)).text())
    const items = data.map(
      ({ timeCreated: created, data: payload, ...rest }: { timeCreated: number; data: object }) => ({
        ...rest,
        payload,
        time: { created },
      }),
    )
    return Response.json({ data: items.filter(({ id }: { id: string }) => !deleted.includes(id)) })
  }
  return { call, deleted }
}

test.each([
  [204, true],
  [409, false],
  [404, false],
])('2.0 answers %s to a prompt that is taken back: withdrawn is %s', async (status, isWithdrawn) => {
  const { bytes, sessions } = readTape('queue')
  const server = createRecordedServer({ bytes, version: openCode2Version })
  server.publish(server.types.lastIndexOf('session.input.admitted') + 1)
  const { call, deleted } = stableAt(server, status)
  const source = sourceAt('http://recorded', call)
  const place = { sessionID: sessions[0]?.id ?? '', directory: undefined }
  const [messageID = '', ...more] = (await source.waiting?.(place)) ?? []
  expect(more).toEqual([])
  expect(await source.withdraw?.(place, 'msg_unknown')).toBe(false)
  expect(await source.withdraw?.(place, messageID)).toBe(isWithdrawn)
  expect(deleted).toEqual(isWithdrawn ? [messageID] : [])
  expect(await source.waiting?.(place)).toEqual(isWithdrawn ? [] : [messageID])
  source.close()
})
