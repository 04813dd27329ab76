import { textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { describe, expect, test } from 'vitest'
import { collectReplies } from '../collect-replies.ts'
import { chunk, type Message, scripted, type Turn } from './agent.ts'
import type { Fake } from './fake.ts'
import { readRecording, replayed } from './replay.ts'
import { sessionAgents } from './session-agents.ts'

const agents = sessionAgents.map(({ folder, version, agent }) => ({ recorded: `${folder}-${version}`, agent }))

describe.each(agents)('a session of an ended process of $recorded', ({ recorded, agent }) => {
  const lines = readRecording('loaded', recorded)
  const load = lines.find(({ message }) => message.method === 'session/load')?.message
  const { sessionId: sessionID } = Object(Object(load).params)

  test('is found again with the prompt that was cut off', async () => {
    const { client } = replayed('loaded', recorded)
    const posted = { sessionID, directory: '/project', at: Date.now() - 60_000, messageID: 'msg_before' }
    const found = await client.resume({ ...posted, text: '[scenario:cut] Go.' })
    if (found.type !== 'found') throw new Error(found.type)
    const reply = await found.stream.result
    expect([reply.outcome, reply.prompt?.text, toolsOf(reply).map(({ state }) => state.status)]).toEqual([
      'aborted',
      '[scenario:cut] Go.',
      ['completed'],
    ])
    if (agent === 'claude') expect(textOf(reply)).not.toContain('It is cut here')
    if (agent === 'codex') expect(textOf(reply)).toContain('It is cut here')
    expect(textOf(reply)).toContain('I look again.')
    expect((await client.resume({ ...posted, text: 'Another one.' })).type).toBe('absent')
    await client.close()
  })

  test('the recording shows nothing of its machine', () => {
    expect(JSON.stringify(lines)).not.toMatch(/tmp-reply-|\/tmp\/reply-|\/root|registry|claude-0/)
  })
})

/** An agent with an earlier session `ses_old`, which it repeats with these updates, each with its session. */
async function stage(
  name: string,
  updates: readonly (readonly [string, object])[],
  act: (turn: Turn) => void | Promise<void> = ({ say, end }) => {
    say(chunk('An answer.'))
    end({ stopReason: 'end_turn' })
  },
) {
  const load = ({ method, id }: Message, fake: Fake): boolean => {
    const answer = (result: object): void => fake.say({ jsonrpc: '2.0', id, result })
    if (method === 'initialize') {
      const agentCapabilities = { loadSession: true }
      answer({ protocolVersion: 1, agentInfo: { name, version: '1' }, agentCapabilities })
    } else if (method === 'session/load') {
      for (const [sessionId, update] of updates)
        fake.say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } })
      answer({})
    } else return false
    return true
  }
  const errors: string[] = []
  const { source, heard } = scripted(act, { onError: ({ message }) => errors.push(message) }, load)
  const client = connectSource(source)
  await client.ready
  return { client, source, heard, errors }
}

const user = (text: string) => ({ ...chunk(text), sessionUpdate: 'user_message_chunk' })
const old = (...updates: readonly object[]) => updates.map((update) => ['ses_old', update] as const)

test.each([
  ['@agentclientprotocol/claude-agent-acp', 'completed'],
  ['of another name', 'aborted'],
])('the last text of a session of the agent %s is %s', async (name, outcome) => {
  const { client } = await stage(name, old(user('Look'), user(' around.'), chunk('I look'), chunk('ed.')))
  const reply = await client.reply('ses_old')
  expect([reply?.prompt?.text, reply && textOf(reply), reply?.outcome]).toEqual(['Look around.', 'I looked.', outcome])
  await client.close()
})

const claude = '@agentclientprotocol/claude-agent-acp'
const userWith = (messageId: string, text: string) => ({ ...user(text), messageId })

test("Claude Code's note that a run was stopped ends that run as aborted, and isn't a prompt", async () => {
  const note = userWith('u3', '[Request interrupted by user]')
  const { client } = await stage(claude, old(userWith('u1', 'One.'), chunk('First.'), userWith('u2', 'Two.'), note))
  const posted = { sessionID: 'ses_old', directory: '/project', at: Date.now() - 60_000, messageID: 'msg_before' }
  const resumed = await client.resume({ ...posted, text: 'Two.', sameTextBefore: 0 })
  if (resumed.type !== 'found') throw new Error(resumed.type)
  const reply = await resumed.stream.result
  expect([reply.prompt?.text, reply.outcome]).toEqual(['Two.', 'aborted'])
  await client.close()
})

test.each([
  [
    'a call',
    { sessionUpdate: 'tool_call', toolCallId: 'c', title: 'ls', status: 'in_progress' },
    ['MessageAbortedError', undefined],
  ],
  ['a thought', { ...chunk('Hm.'), sessionUpdate: 'agent_thought_chunk' }, ['MessageAbortedError', undefined]],
  ['a text', chunk(' It is done.'), [undefined, 'stop']],
])('of an earlier run that ends with %s, the end is told by that', async (_, last, outcome) => {
  const updates = old(user('One.'), chunk('I look.'), last, user('Two.'), chunk('Yes.'))
  const { client, source } = await stage('qwen-code', updates)
  const place = { sessionID: 'ses_old', directory: '/project' }
  const { messages } = await source.startReading().session(place, { messageIDs: [] })
  const { head } = messages.find((message) => message.head.role === 'assistant') ?? {}
  expect([head?.error?.name, head?.finish]).toEqual(outcome)
  await client.close()
})

test('two prompts without an answer in between are two, by their ids', async () => {
  const { client } = await stage(claude, old(userWith('u1', 'yes'), userWith('u2', 'yes')))
  const posted = { sessionID: 'ses_old', directory: '/project', at: Date.now() - 60_000, messageID: 'msg_before' }
  const resumed = await client.resume({ ...posted, text: 'yes', sameTextBefore: 1 })
  expect(resumed.type).toBe('found')
  await client.close()
})

test('a prompt without an answer is aborted, and the next one is answered', async () => {
  const { client, heard } = await stage('qwen-code', old(user('One.'), chunk('First.'), user('Two.')))
  const reply = await client.reply('ses_old')
  expect([reply?.prompt?.text, reply?.outcome]).toEqual(['Two.', 'aborted'])
  const next = await client.prompt({ text: 'Three.', sessionID: 'ses_old' }).result
  expect([textOf(next), next.outcome]).toEqual(['An answer.', 'completed'])
  expect(heard.filter(({ method }) => method === 'session/load')).toHaveLength(1)
  await client.close()
})

test('a sub-agent of the past is shown below its parent, and has ended with it', async () => {
  const running = { sessionUpdate: 'subagent_update', sessionId: 'child', title: 'Look', state: { state: 'running' } }
  const { client, errors } = await stage('qwen-code', [
    ...old(user('Delegate.'), running),
    ['child', chunk('I look.')],
    ['of_another', chunk('Lost.')],
    ...old({ sessionUpdate: 'agent_message_chunk' }, { sessionUpdate: 'of_version_3' }, chunk('Done.')),
  ])
  const reply = await client.reply('ses_old')
  expect(reply?.children.map((child) => [child.title, textOf(child.reply), child.reply.outcome])).toEqual([
    ['Look', 'I look.', 'aborted'],
  ])
  expect(errors).toEqual([
    'agent sent output of the session of_another, which it did not announce. It was skipped.',
    'agent sent a malformed session update. It was skipped.',
  ])
  await client.close()
})

test('a sub-agent that works while another session is loaded stays with its own session', async () => {
  const begun = { sessionUpdate: 'subagent_update', sessionId: 'live', title: 'Look', state: { state: 'running' } }
  let finish = (): void => {}
  const { client, errors } = await stage(
    'qwen-code',
    [...old(user('One.'), chunk('First.')), ['live', chunk('I look.')], ...old(chunk(' Second.'))],
    async ({ say, sessionID, end }) => {
      say(chunk('I delegate.'))
      say(begun)
      await new Promise<void>((resolve) => {
        finish = resolve
      })
      say({ ...begun, state: { state: 'idle', stopReason: 'end_turn' } }, sessionID)
      end({ stopReason: 'end_turn' })
    },
  )
  const stream = client.prompt({ text: 'Go.' })
  await collectReplies(client, '/project').seen((reply) => textOf(reply) === 'I delegate.')
  const loaded = await client.reply('ses_old')
  finish()
  const reply = await stream.result
  expect([loaded && textOf(loaded), reply.children.map((child) => textOf(child.reply)), errors]).toEqual([
    'First. Second.',
    ['I look.'],
    [],
  ])
  await client.close()
})
