import { recordedVersions } from '@reply/testing'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startDialogueStage } from './dialogue-stage.ts'
import { type Example, example } from './examples.ts'
import { chunksOf, textIn } from './handler-stage.ts'

let close = async (): Promise<void> => {}

beforeAll(async () => {
  const stage = await startDialogueStage(recordedVersions.at(-1) ?? '', 6)
  vi.stubEnv('OPENCODE_URL', stage.opencode.url)
  vi.stubEnv('CHAT_TOKEN', 'a-token')
  const { client, handle } = await import('../../../examples/ui/chat.ts')
  close = async () => {
    handle.close()
    await client.close()
    await stage.close()
    vi.unstubAllEnvs()
  }
})
afterAll(async () => await close())

const headers = { cookie: 'theme=dark; token=a-token', 'content-type': 'application/json' }
const url = 'https://app.example/api/chat'

test.each<Example>(['hono', 'next'])('the example for %s streams a reply, resumes one and stops one', async (name) => {
  const handle = await example(name)
  const post = async (script: string): Promise<Response> => {
    const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: `Please do it. [scenario:${script}]` }] }
    const body = JSON.stringify({ id: name, messages: [message] })
    return await handle(new Request(url, { method: 'POST', headers, body }))
  }
  expect(textIn(await chunksOf(await post('failing-read')))).toBe('There is no such file.')
  const running = await post('ui-stopped')
  const resumed = await handle(new Request(`${url}/${name}/stream`, { headers }))
  const stopped = await handle(new Request(`${url}/${name}`, { method: 'DELETE', headers }))
  expect([running.status, resumed.status, stopped.status]).toEqual([200, 200, 204])
  for (const response of [running, resumed])
    expect((await chunksOf(response)).at(-1)).toMatchObject({ messageMetadata: { outcome: 'aborted' } })
})
