import { afterAll, beforeAll, expect, test, vi } from 'vitest'

let example: typeof import('../../../examples/ag-ui/copilotkit.ts')

beforeAll(async () => {
  // Nothing listens there.
  vi.stubEnv('OPENCODE_URL', 'http://127.0.0.1:1')
  vi.stubEnv('AGENT_TOKEN', 'a-token')
  // The example says there that it can't connect.
  vi.spyOn(console, 'error').mockReturnValue(undefined)
  example = await import('../../../examples/ag-ui/copilotkit.ts')
})
afterAll(async () => {
  example.handle.close()
  await example.client.close()
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

test('the example for CopilotKit lets in who has the token', async () => {
  const stop = (headers: Record<string, string>): Promise<Response> =>
    example.handle(new Request('https://app.example/api/agent?threadId=one', { method: 'DELETE', headers }))
  expect((await stop({})).status).toBe(404)
  expect((await stop({ authorization: 'Bearer another' })).status).toBe(404)
  // There is no session yet.
  expect((await stop({ authorization: 'Bearer a-token' })).status).toBe(409)
})
