import { systemClock, textOf } from '@reply/core'
import { expect, test } from 'vitest'
import { say, startFakeAgent } from '../../ag-ui/test/source/fake-agent.ts'
import { connectServer } from '../src/servers/connect.ts'
import { checkServer } from '../src/setup/check-bridge.ts'

const unused = { secretNames: [], connectTimeoutMs: 1000, clock: systemClock }

test('an AG-UI agent of a config is prompted under the lease, with its token', async () => {
  const headers: unknown[] = []
  const agent = await startFakeAgent((run) => {
    headers.push(run.headers.authorization)
    run.send(...say('m1', 'Hello.'))
    run.finish()
    return undefined
  })
  const leases: string[] = []
  const whenHeld = async (): Promise<AbortSignal> => {
    leases.push('held')
    return new AbortController().signal
  }
  const server = { agent: 'ag-ui', url: agent.url, token: { env: 'AG_UI_TOKEN' } }
  const secret = (): string => 's3cret'
  const client = await connectServer(server, { ...unused, secret, whenHeld })
  await client.ready
  // A check whether the agent answers changes nothing, so it does not wait.
  expect(leases).toEqual([])
  const reply = await client.prompt({ text: 'Hi' }).result
  expect([reply.outcome, textOf(reply), headers]).toEqual(['completed', 'Hello.', ['Bearer s3cret']])
  expect(leases.length).toBeGreaterThan(0)
  await client.close()
  expect(await checkServer(server, { ...unused, secret, timeoutMs: 1000 })).toBe(`${agent.url} answers`)
  await agent.close()
  await expect(checkServer(server, { ...unused, secret, timeoutMs: 1000 })).rejects.toThrow('No AG-UI agent at')
})

test('a session goes on with a bridge that starts again only with `keepsThreads`', async () => {
  const agent = await startFakeAgent((run) => {
    run.send(...say('m1', 'Hello.'))
    run.finish()
    return undefined
  })
  const promptEarlier = async (keepsThreads: boolean) => {
    const server = { agent: 'ag-ui', url: agent.url, keepsThreads }
    const client = await connectServer(server, { ...unused, secret: () => '' })
    const { outcome } = await client.prompt({ text: 'Hi', sessionID: 'earlier' }).result
    await client.close()
    return outcome
  }
  expect([await promptEarlier(false), await promptEarlier(true)]).toEqual(['failed', 'completed'])
  await agent.close()
})
