import { type Reply, ReplyError, textOf, toolsOf } from '@reply/core'
import { expect, test } from 'vitest'
import { clientOf } from '../../../src/acp/client.ts'
import type { Fake } from '../fake.ts'
import { idle, running, said, scriptedV2 } from './agent.ts'

const sessionID = 'ses_old'
const place = { sessionID, directory: '/project' }
const posted = (text: string) => ({ sessionID, directory: '/project', messageID: 'msg_of_the_killed', text, at: 0 })

/** The agent that keeps no text that was cut off. */
const claude = '@agentclientprotocol/claude-agent-acp'

const asked = (text: string, messageId: string) => [
  { sessionUpdate: 'user_message', messageId, content: [] },
  { sessionUpdate: 'user_message_chunk', messageId, content: { type: 'text', text } },
]

/** A client of an agent that repeats these updates when the session is read, each of the session unless it names another. */
function reading(updates: readonly (object | readonly [string, object])[], fork: object | null = {}, name = claude) {
  const agent: { fake?: Fake } = {}
  const say = (fake: Fake, update: object, sessionId = sessionID): void =>
    fake.say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } })
  const { source, heard } = scriptedV2(
    (session) => {
      session.accept()
      session.say(running)
      session.say(said('Another answer.', 'm9'))
      session.say(idle)
    },
    {},
    (message, fake) => {
      agent.fake = fake
      const params: { readonly sessionId?: string; readonly replayFrom?: object; readonly cursor?: string } =
        message.params ?? {}
      const answer = (result: object): true => {
        fake.say({ jsonrpc: '2.0', id: message.id, result })
        return true
      }
      switch (message.method) {
        case 'initialize':
          return answer({ protocolVersion: 2, info: { name }, capabilities: { session: { fork } } })
        case 'session/resume':
          if (params.sessionId !== sessionID) {
            fake.say({ jsonrpc: '2.0', id: message.id, error: { code: -32002, message: 'Resource not found' } })
            return true
          }
          if (params.replayFrom)
            for (const update of updates)
              if (Array.isArray(update)) say(fake, update[1], update[0])
              else say(fake, update)
          return answer({})
        case 'session/list':
          if (params.cursor) return answer({ sessions: [{ sessionId: 'ses_2', cwd: '/project' }], nextCursor: null })
          return answer({
            sessions: [{ sessionId: sessionID, cwd: '/project', title: 'Old', updatedAt: '2026-11-25T21:07:29.000Z' }],
            nextCursor: 'more',
          })
        case 'session/fork':
          return answer({ sessionId: 'ses_copy' })
        default:
          return false
      }
    },
  )
  return {
    client: clientOf(source, { command: 'agent', cwd: '/project' }),
    source,
    heard,
    say: (update: object) => agent.fake && say(agent.fake, update),
  }
}

async function resumed(client: ReturnType<typeof reading>['client'], text: string): Promise<Reply> {
  await client.ready
  const found = await client.resume(posted(text))
  if (found.type !== 'found') throw new Error(`It is ${found.type}.`)
  return await found.stream.result
}

const call = {
  sessionUpdate: 'tool_call_update',
  toolCallId: 'c1',
  name: 'Bash',
  title: 'ls',
  kind: 'execute',
  status: 'completed',
  rawInput: { command: 'ls' },
}

test('a program that was killed finds its run again, with its calls and its answer', async () => {
  const { client } = reading([
    ...asked('First.', 'u1'),
    said('One.'),
    ...asked('Go.', 'u2'),
    call,
    said('Done.', 'm2'),
    idle,
  ])
  const reply = await resumed(client, 'Go.')
  expect([reply.outcome, textOf(reply), reply.prompt?.text, toolsOf(reply).map(({ tool }) => tool)]).toEqual([
    'completed',
    'Done.',
    'Go.',
    ['bash'],
  ])
  expect(textOf(await client.prompt({ text: 'And now?', sessionID }).result)).toBe('Another answer.')
  await client.close()
})

test("Claude Code's note that a run was stopped ends that run as aborted, and isn't a prompt", async () => {
  const note = asked('[Request interrupted by user]', 'u3')
  const { client } = reading(
    [...asked('First.', 'u1'), said('One.'), ...asked('Go.', 'u2'), call, ...note, idle],
    {},
    claude,
  )
  const reply = await resumed(client, 'Go.')
  expect([reply.prompt?.text, reply.outcome]).toEqual(['Go.', 'aborted'])
  await client.close()
})

test('each prompt of the past begins a run, and what comes before the first one too', async () => {
  const texts = async (updates: Parameters<typeof reading>[0]): Promise<readonly string[]> => {
    const { client, source } = reading(updates)
    await client.ready
    const { messages } = await source.startReading().session(place, { messageIDs: [] })
    await client.close()
    return messages.map(({ head }) => `${head.role} ${head.id}`)
  }
  const both = [...asked('First.', 'u1'), ...asked('Second.', 'u2'), said('Two.', 'a2'), idle]
  expect(await texts(both)).toEqual(['user u1', expect.stringMatching(/^assistant/), 'user u2', 'assistant a2'])
  expect(await texts([said('A summary.', 'a1'), ...both.slice(2)])).toEqual([
    expect.stringMatching(/^user/),
    'assistant a1',
    'user u2',
    'assistant a2',
  ])
})

test.each<readonly [string, readonly object[], string]>([
  ['its prompt', [...asked('Go.', 'u1'), idle], claude],
  ['a call', [...asked('Go.', 'u1'), said('I look.'), { ...call, status: 'in_progress' }, idle], claude],
  ['a text, of an agent that keeps cut texts', [...asked('Go.', 'u1'), said('It is c'), idle], 'another'],
])('a run that ends with %s was cut off', async (_, updates, agent) => {
  const { client } = reading(updates, {}, agent)
  expect((await resumed(client, 'Go.')).outcome).toBe('aborted')
  await client.close()
})

test('a run that still goes on is joined, and ends with its idle state', async () => {
  const { client, say } = reading([...asked('Go.', 'u1'), said('It goes '), running])
  await client.ready
  const found = await client.resume(posted('Go.'))
  if (found.type !== 'found') throw new Error(`It is ${found.type}.`)
  say(said('on.'))
  say(idle)
  const reply = await found.stream.result
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'It goes on.'])
  await client.close()
})

test('a sub-agent of the past is below its run', async () => {
  const child = (state: object) => ({ sessionUpdate: 'subagent_update', sessionId: 'ses_child', title: 'Look', state })
  const { client, source } = reading([
    ...asked('Go.', 'u1'),
    child({ state: 'running' }),
    ['ses_child', said('The child works.', 'c')],
    said('Done.'),
    child({ state: 'idle' }),
    ['ses_child', { ...idle, stopReason: undefined }],
    idle,
  ])
  await client.ready
  const reply = await resumed(client, 'Go.')
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Done.'])
  expect(await source.children(place)).toMatchObject([{ sessionID: 'ses_child', title: 'Look' }])
  expect(await source.working(undefined)).toEqual(new Map())
  await client.close()
})

test('sessions are listed page by page, and copied as a whole', async () => {
  const { client, source, heard } = reading([])
  await client.ready
  expect(await source.sessions({ directory: '/project' })).toMatchObject([
    { sessionID, directory: '/project', title: 'Old', updatedAt: Date.parse('2026-11-25T21:07:29.000Z') },
    { sessionID: 'ses_2', directory: '/project' },
  ])
  expect(await source.fork?.(place)).toMatchObject({ sessionID: 'ses_copy', directory: '/project' })
  expect(heard.at(-1)).toMatchObject({ method: 'session/fork', params: { sessionId: sessionID, cwd: '/project' } })
  await expect(source.fork?.(place, 'msg')).rejects.toThrow(ReplyError)
  await client.close()
})

test('an agent that copies no sessions says so, and an unknown session is gone', async () => {
  const { client, source } = reading([])
  await client.ready
  await expect(source.session({ ...place, sessionID: 'ses_none' })).rejects.toMatchObject({ type: 'gone' })
  await client.close()
  const { client: other, source: without } = reading([], null)
  await other.ready
  await expect(without.fork?.(place)).rejects.toMatchObject({ type: 'unsupported' })
  await other.close()
})
