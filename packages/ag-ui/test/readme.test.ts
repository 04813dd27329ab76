import { expect, onTestFinished, test, vi } from 'vitest'
import { readmeProgram } from '../../ui/test/readme-program.ts'
import * as agUi from '../src/index.ts'
import { createStage } from './stage.ts'

/** Sends a prompt to the endpoint of the README, before the agent of a stage. */
async function send(secret: string | undefined, authorization: string) {
  vi.stubEnv('AGENT_TOKEN', secret)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { client, heard } = createStage()
  const { handle } = await readmeProgram('ag-ui', { '@reply/ag-ui': agUi, '@reply/core': { connect: () => client } })
  if (typeof handle !== 'function') throw new Error('The README exports no endpoint.')
  const body = JSON.stringify({ threadId: 'one', runId: 'run', messages: [{ id: 'u', role: 'user', content: 'Hi' }] })
  const headers = { authorization, 'content-type': 'application/json' }
  const response: Response = await handle(new Request('https://app.example/agent', { method: 'POST', body, headers }))
  return { status: response.status, text: await response.text(), heard }
}

test("the README's endpoint lets in who has the token", async () => {
  const { status, text } = await send('a-token', 'Bearer a-token')
  expect(status).toBe(200)
  expect(text).toContain('You said: Hi')
})

test.each([
  ['a-token', ''],
  ['a-token', 'Bearer another'],
  [undefined, ''],
  [undefined, 'Bearer undefined'],
  ['', 'Bearer '],
])("the README's endpoint with the secret %j refuses %j", async (secret, authorization) => {
  const { status, heard } = await send(secret, authorization)
  expect(status).toBe(404)
  expect(heard).toEqual([])
})
