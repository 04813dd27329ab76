import { AbstractAgent, HttpAgent } from '@ag-ui/client'
import type { BaseEvent } from '@ag-ui/core'
import { textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { expect, expectTypeOf, test } from 'vitest'
import { agUi } from '../../src/index.ts'
import { say, startFakeAgent } from './fake-agent.ts'

test('agents of the protocol fit', () => {
  expectTypeOf(agUi).toBeCallableWith({ agent: new HttpAgent({ url: 'http://127.0.0.1/' }) })
  expectTypeOf(agUi).toBeCallableWith({ agent: { run: async function* () {} } })
})

test("an agent of the protocol's own client answers", async () => {
  const agent = await startFakeAgent(({ send, finish }) => {
    send({ type: 'RUN_STARTED', threadId: 't', runId: 'r' }, ...say('m1', 'Hello.'))
    finish()
    return undefined
  })
  const client = connectSource(agUi({ agent: new HttpAgent({ url: agent.url }) }))
  const reply = await client.prompt({ text: 'Hi' }).result
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Hello.'])
  await client.close()
  await agent.close()
})

test('an abort unsubscribes from an agent in the process', async () => {
  let isStopped = false
  class Endless extends AbstractAgent {
    run(): ReturnType<AbstractAgent['run']> {
      const events: BaseEvent[] = say('m1', 'On and on.') as unknown as BaseEvent[]
      const stream = {
        subscribe: (observer: { next: (event: BaseEvent) => void }) => {
          for (const event of events) observer.next(event)
          return {
            unsubscribe: () => {
              isStopped = true
            },
          }
        },
      }
      return stream as unknown as ReturnType<AbstractAgent['run']>
    }
  }
  const client = connectSource(agUi({ agent: new Endless() }))
  const stream = client.prompt({ text: 'Hi' })
  for await (const _ of stream.text) break
  expect((await stream.abort()).outcome).toBe('aborted')
  await expect.poll(() => isStopped).toBe(true)
  await client.close()
})
