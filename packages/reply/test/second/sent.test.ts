import { expect, test } from 'vitest'
import { createDecoder2 } from '../../src/source/opencode2/decode.ts'
import { sourceAt } from '../source/live-stage.ts'
import { type StableFrame, sessionID, streamOf } from './stable-frames.ts'

const form = {
  id: 'frm_1',
  sessionID,
  fields: [
    { key: 'size', type: 'integer' },
    { key: 'weight', type: 'number' },
    { key: 'sure', type: 'boolean' },
    { key: 'note', type: 'string' },
    { key: 'colours', type: 'multiselect', options: [{ value: 1, label: 'Red' }] },
    { key: 'left', type: 'string' },
  ],
}

/** A source whose server answers each post with this status, and what was posted. */
function stage(status: number) {
  const posts: unknown[] = []
  const call: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const { pathname } = new URL(request.url)
    if (pathname === '/api/health') return Response.json({ healthy: true, version: '2.0.26', pid: 1 })
    if (request.method === 'GET') return Response.json({ data: form })
    posts.push([pathname, JSON.parse(await request.text())])
    return status === 204
      ? new Response(null, { status })
      : Response.json({ _tag: 'Refused', message: 'No.' }, { status })
  }
  return { source: sourceAt('http://recorded', call), posts }
}

const question = { type: 'question', sessionID, requestID: form.id, directory: undefined } as const
const permission = { type: 'permission', sessionID, requestID: 'per_1', directory: undefined } as const

test("an answer to a form has its fields' types, and leaves out what was not answered", async () => {
  const { source, posts } = stage(204)
  await source.answer(question, [['3'], ['2.5'], ['Yes'], ['4'], ['Red', 'other'], []])
  const answer = { size: 3, weight: 2.5, sure: true, note: '4', colours: [1, 'other'] }
  expect(posts).toEqual([[`/api/session/${sessionID}/form/frm_1/reply`, { answer }]])
  source.close()
})

test('an answer to a permission is named as 2.0 and as preview builds name it', async () => {
  const { source, posts } = stage(204)
  await source.answer(permission, 'always')
  const body = { reply: 'always', decision: 'always' }
  expect(posts).toEqual([[`/api/session/${sessionID}/permission/per_1/reply`, body]])
  source.close()
})

test('a prompt carries its own id, by which the server knows a repeated one, and how it waits', async () => {
  const { source, posts } = stage(204)
  await source.prompt({ sessionID, directory: undefined }, { text: 'Go on.', messageID: 'msg_1', delivery: 'queue' })
  expect(posts).toEqual([[`/api/session/${sessionID}/prompt`, { id: 'msg_1', text: 'Go on.', delivery: 'queue' }]])
  source.close()
})

test.each([
  [404, 'gone'],
  [409, 'gone'],
  [400, 'refused'],
])('a form that the server answers with %i is %s', async (status, type) => {
  const { source } = stage(status)
  await expect(source.answer(question, [['3']])).rejects.toMatchObject({ type })
  source.close()
})

test('an execution without a prompt and a step says nothing, so that no waiting reply ends', () => {
  const frames: readonly StableFrame[] = [['session.execution.started'], ['session.execution.succeeded']]
  const decoder = createDecoder2()
  const lines = streamOf(frames).split('\n\n').filter(Boolean)
  expect(lines.flatMap((line) => decoder.decode(line.slice('data: '.length), 0) ?? [])).toEqual([])
})
