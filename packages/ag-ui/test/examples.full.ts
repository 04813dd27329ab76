import { HttpAgent } from '@ag-ui/client'
import { launchOpencode, promptFor, scenarios, startModel } from '@reply/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serveAgent } from './stage.ts'

test('the example for CopilotKit answers its HttpAgent, and asks for permission', async () => {
  const scripts = Object.assign(
    {},
    ...scenarios.filter(({ name }) => name === 'permission-once').map((each) => each.scripts),
  )
  const model = await startModel({ scripts })
  onTestFinished(() => model.close())
  const server = await launchOpencode({ model, config: { permission: { bash: 'ask' } } })
  onTestFinished(() => server.stop())
  vi.stubEnv('OPENCODE_URL', server.url)
  vi.stubEnv('AGENT_TOKEN', 'a-token')
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  const { client, handle } = await import('../../../examples/ag-ui/copilotkit.ts')
  onTestFinished(() => client.close())
  const agent = new HttpAgent({ url: await serveAgent(handle), headers: { authorization: 'Bearer a-token' } })
  agent.addMessage({ id: 'u', role: 'user', content: promptFor('permission-once') })
  await agent.runAgent()
  const [interrupt] = agent.pendingInterrupts
  expect(interrupt?.message).toContain('echo allowed')
  await agent.runAgent({ resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload: 'once' }] })
  expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'It ran.' })
}, 120_000)
