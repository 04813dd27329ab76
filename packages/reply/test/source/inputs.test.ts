import { createRecordedServer, openCode2Version } from '@reply/testing'
import { expect, test } from 'vitest'
import type { PromptInput } from '../../src/index.ts'
import { setStage } from '../drive/stage.ts'
import { readTape } from '../second/recorded.ts'
import { sourceAt } from './live-stage.ts'

const model = { providerID: 'fake', modelID: 'm1' }
const schema = { type: 'object', properties: { name: { type: 'string' } } }
const format = { type: 'json_schema', schema, retryCount: 2 } as const

test('OpenCode 1 receives tools, variant and format with the prompt', async () => {
  const bodies: unknown[] = []
  const { opencode, rest } = setStage({
    scenario: 'plain',
    between: async (request, answer) => {
      if (request.method === 'POST' && request.url.includes('/prompt_async')) bodies.push(await request.clone().json())
      return await answer(request)
    },
  })
  await opencode.ready
  const input: PromptInput = { text: 'Tell.', model, variant: 'high', tools: { bash: false, read: true }, format }
  opencode.prompt(input).result.catch(() => {})
  await rest()
  expect(bodies).toEqual([
    expect.objectContaining({
      model,
      variant: 'high',
      tools: { bash: false, read: true },
      format: { type: 'json_schema', schema, retryCount: 2 },
    }),
  ])
  await opencode.close()
})

test('OpenCode 1 is not sent a prompt that asks to be queued, and the reply says why and what to do', async () => {
  const { opencode, server } = setStage({ scenario: 'plain' })
  await opencode.ready
  const reply = await opencode.prompt({ text: 'Tell.', delivery: 'queue' }).result
  expect(reply).toMatchObject({ outcome: 'failed', error: { name: 'unsupported' } })
  expect(reply.error?.message).toBe('This server has no prompt queue. Leave out delivery, or wait for the reply.')
  expect(server.posts).toEqual([])
  await opencode.close()
})

/** A recorded server of OpenCode 2 and what was posted to it. */
function second() {
  const { bytes, sessions } = readTape('plain')
  const server = createRecordedServer({ bytes, version: openCode2Version })
  server.publish(server.length)
  const posted: [path: string, body: unknown][] = []
  const call: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    if (request.method !== 'POST') return await server.fetch(request)
    posted.push([new URL(request.url).pathname.replace(/^.*(?:ses_\w+)?\/(?=\w+$)/, ''), await request.clone().json()])
    return Response.json({ data: { id: 'ses_new' } })
  }
  const place = { sessionID: sessions[0]?.id ?? '', directory: undefined }
  return { source: sourceAt('http://recorded', call), place, posted }
}

test('OpenCode 2 receives a variant as part of the model', async () => {
  const { source, place, posted } = second()
  await source.prompt(place, { text: 'Tell.', model, variant: 'high' })
  await source.command(place, { command: 'greet', model, variant: 'high' })
  await source.create({ directory: '/project', model, variant: 'high' })
  const wanted = { id: 'm1', providerID: 'fake', variant: 'high' }
  expect(posted).toEqual([
    ['model', { model: wanted }],
    ['prompt', { text: 'Tell.' }],
    ['command', { command: 'greet', model: wanted }],
    ['session', { location: { directory: '/project' }, model: wanted }],
  ])
  source.close()
})

test.each([
  ['tools', { tools: { bash: false } }, /does not take tools with a prompt/],
  ['a format', { format }, /does not take format with a prompt/],
  ['a system prompt', { system: 'Be brief.' }, /does not take system with a prompt/],
  ['a variant without its model', { variant: 'high' }, /takes a variant only with its model/],
  ['a mentioned agent', { parts: [{ type: 'agent', name: 'plan' }] as const }, /does not take a part of type "agent"/],
])('OpenCode 2 refuses %s and posts nothing', async (_, more, message) => {
  const { source, place, posted } = second()
  await expect(source.prompt(place, { text: 'Tell.', ...more })).rejects.toMatchObject({
    type: 'unsupported',
    message: expect.stringMatching(message),
  })
  expect(posted).toEqual([])
  source.close()
})
