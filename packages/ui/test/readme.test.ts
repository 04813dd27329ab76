import { expect, onTestFinished, test, vi } from 'vitest'
import * as ui from '../src/index.ts'
import { chunksOf, createStage, get, post, prompt, textIn } from './handler-stage.ts'
import { readmeProgram } from './readme-program.ts'

/** The route of the README, before the agent of a stage. */
async function route() {
  const { client, heard } = createStage()
  const { POST, GET } = await readmeProgram('ui', { '@reply/ui': ui, '@reply/core': { connect: () => client } })
  if (typeof POST !== 'function' || typeof GET !== 'function') throw new Error('The README exports no route.')
  const send = async (cookie: string): Promise<Response> => await POST(post(prompt('answer'), { headers: { cookie } }))
  return {
    send,
    read: async (cookie: string): Promise<Response> => await GET(get('mine', { headers: { cookie } })),
    heard,
  }
}

test("the README's route lets in who has the cookie, beside others", async () => {
  vi.stubEnv('CHAT_TOKEN', 'a-token')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { send, read } = await route()
  expect(textIn(await chunksOf(await send('theme=dark; token=a-token; a=b')))).toBe('An answer.')
  expect((await read('token=a-token')).status).toBe(204)
})

test.each([
  ['a-token', ''],
  ['a-token', 'token=another'],
  ['a-token', 'token=a-token2'],
  [undefined, ''],
  [undefined, 'token=undefined'],
  ['', 'token='],
])("the README's route with the secret %j refuses the cookie %j", async (secret, cookie) => {
  vi.stubEnv('CHAT_TOKEN', secret)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { send, read, heard } = await route()
  expect([(await send(cookie)).status, (await read(cookie)).status]).toEqual([404, 404])
  expect(heard).toEqual([])
})
