import { connectSource } from '@reply/core/source'
import { describe, expect, test } from 'vitest'
import { type Message, scripted } from './agent.ts'
import type { Fake } from './fake.ts'
import { listedBy } from './list-again.ts'
import { readRecording, replayed } from './replay.ts'
import { listedAgents } from './session-agents.ts'

describe.each(listedAgents.map(({ folder, version }) => `${folder}-${version}`))('%s', (recorded) => {
  test('lists the session of another process in its folder', async () => {
    const { client } = replayed('listed', recorded)
    await client.ready
    const { here, elsewhere, everywhere } = await listedBy(client, '/project')
    expect(here).toMatchObject([
      {
        sessionID: expect.any(String),
        directory: '/project',
        title: '[scenario:text] Go.',
        updatedAt: expect.any(Number),
      },
    ])
    expect([elsewhere, everywhere]).toEqual([[], here])
    await client.close()
  })

  test('the recording shows nothing of its machine', () => {
    expect(JSON.stringify(readRecording('listed', recorded))).not.toMatch(
      /tmp-reply-|\/tmp\/reply-|\/root|registry|claude-0/,
    )
  })
})

interface Listing {
  readonly cwd?: string
  readonly cursor?: string
}

/** A source of an agent that answers `session/list` with these pages, and may ignore the folder. */
function listing(pages: readonly (readonly object[])[], sessionCapabilities: object = { list: {} }) {
  return scripted(
    () => {},
    {},
    (message: Message & { readonly params?: Listing }, fake: Fake) => {
      const answer = (result: object): true => {
        fake.say({ jsonrpc: '2.0', id: message.id, result })
        return true
      }
      if (message.method === 'initialize')
        return answer({ protocolVersion: 1, agentCapabilities: { sessionCapabilities } })
      if (message.method !== 'session/list') return false
      const at = Number(message.params?.cursor ?? 0)
      return answer({ sessions: pages[at], ...(at + 1 < pages.length && { nextCursor: String(at + 1) }) })
    },
  )
}

const one = { sessionId: 'ses_1', cwd: '/project', updatedAt: '2026-11-27T10:00:00.000Z' }
const two = { sessionId: 'ses_2', cwd: '/project/.', title: 'Two' }
const other = { sessionId: 'ses_3', cwd: '/other', updatedAt: '2026-11-27T12:00:00.000Z' }

test('the pages of a list are read up to the last, and filtered by the folder and the time', async () => {
  const { source, heard } = listing([[one, other], [two]])
  const client = connectSource(source)
  await client.ready
  const ids = async (query: Parameters<typeof source.sessions>[0]) =>
    (await source.sessions(query)).map(({ sessionID }) => sessionID)
  expect(await ids({ directory: '/project' })).toEqual(['ses_1', 'ses_2'])
  expect(await ids({ everywhere: true })).toEqual(['ses_1', 'ses_3', 'ses_2'])
  // It is not known when the second one changed.
  expect(await ids({ everywhere: true, since: Date.parse('2026-11-27T11:00:00.000Z') })).toEqual(['ses_3'])
  expect(heard.findLast(({ method }) => method === 'session/list')?.params).toEqual({ cursor: '1' })
  await client.close()
})

test('an agent that does not declare a list is not asked for one', async () => {
  const { source, heard } = listing([[one]], {})
  const client = connectSource(source)
  await client.ready
  expect(await client.sessions()).toEqual([])
  expect(heard.map(({ method }) => method)).toEqual(['initialize'])
  await client.close()
})
