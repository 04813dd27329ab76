import { ReplyError } from '@reply/core'
import { readableAgentSkips, type SourceStage, sourceContract } from '@reply/core/testing'
import { test } from 'vitest'
import { toSettings } from '../../../src/acp/options.ts'
import { createAcpSource } from '../../../src/acp/source.ts'
import type { Message } from '../agent.ts'
import type { Fake } from '../fake.ts'
import { idle, running, type SessionV2, said, scriptedV2 } from './agent.ts'

const existing = {
  sessionID: 'ses_old',
  messageIDs: ['u1', 'a1', 'u2', 'a2'],
  answer: 'Two.',
  childIDs: ['ses_old_child'],
}

const chunk = (text: string, messageId: string) => ({
  sessionUpdate: 'user_message_chunk',
  messageId,
  content: { type: 'text', text },
})

const child = (sessionId: string, state: object) => ({
  sessionUpdate: 'subagent_update',
  sessionId,
  title: 'Look',
  state,
})

/** What the agent repeats of its earlier session, with the session of each update. */
const past: readonly (readonly [string, object])[] = [
  [existing.sessionID, chunk('First.', 'u1')],
  [existing.sessionID, said('One.', 'a1')],
  [existing.sessionID, child('ses_old_child', { state: 'running' })],
  ['ses_old_child', said('The child works.', 'c1')],
  [existing.sessionID, child('ses_old_child', { state: 'idle' })],
  [existing.sessionID, chunk('Second.', 'u2')],
  [existing.sessionID, said('Two.', 'a2')],
  [existing.sessionID, idle],
]

let calls = 0
const allowed = new Set<string>()

async function permit({ sessionID, text, say, ask }: SessionV2, askingID = sessionID): Promise<void> {
  calls += 1
  const toolCall = { toolCallId: `call_${calls}`, name: 'bash', kind: 'execute', rawInput: { command: 'ls' } }
  say({ sessionUpdate: 'tool_call_update', ...toolCall }, askingID)
  let status = 'completed'
  if (!allowed.has(text)) {
    const options = ['allow_once', 'allow_always', 'reject_once'].map((kind) => ({ optionId: kind, kind, name: kind }))
    const subject = { type: 'tool_call', toolCall }
    const answer = JSON.stringify(await ask('session/request_permission', { title: 'ls', subject, options }, askingID))
    if (answer.includes('allow_always')) allowed.add(text)
    if (!answer.includes('allow')) status = 'failed'
  }
  say({ sessionUpdate: 'tool_call_update', toolCallId: toolCall.toolCallId, status }, askingID)
}

async function act(session: SessionV2, canceled: Promise<void>): Promise<void> {
  const { text, say, accept, ask } = session
  accept()
  say(running)
  if (text === 'endless') {
    say(said('On and on.'))
    await canceled
    return say({ ...idle, stopReason: 'cancelled' })
  }
  if (text === 'question') {
    const properties = { color: { type: 'string', enum: ['Red', 'Blue'] } }
    await ask('elicitation/create', {
      mode: 'form',
      message: 'Which?',
      requestedSchema: { type: 'object', properties },
    })
  }
  if (text === 'permission' || text === 'always') await permit(session)
  if (text === 'delegate') {
    say(child('ses_child', { state: 'running' }))
    say(said('The child works.'), 'ses_child')
    await permit(session, 'ses_child')
    say(child('ses_child', { state: 'idle', stopReason: 'end_turn' }))
  }
  if (text === 'plain') say(said('An answer.'))
  say(idle)
}

async function setup(): Promise<SourceStage> {
  let cancel = (): void => {}
  const canceled = (): Promise<void> =>
    new Promise((resolve) => {
      cancel = resolve
    })
  const more = (message: Message, fake: Fake): boolean => {
    const answer = (result: object): true => {
      fake.say({ jsonrpc: '2.0', id: message.id, result })
      return true
    }
    if (message.method === 'session/cancel') {
      cancel()
      return true
    }
    if (message.method === 'initialize')
      return answer({ protocolVersion: 2, info: { name: 'scripted' }, capabilities: { session: { fork: {} } } })
    if (message.method === 'session/list')
      return answer({
        sessions: [{ sessionId: existing.sessionID, cwd: '/project', updatedAt: '2026-11-25T21:07:29.000Z' }],
      })
    if (message.method === 'session/fork') return answer({ sessionId: 'ses_copy' })
    if (message.method !== 'session/resume') return false
    const { sessionId, replayFrom }: { readonly sessionId?: string; readonly replayFrom?: object } =
      message.params ?? {}
    if (sessionId !== existing.sessionID && sessionId !== 'ses_copy') {
      fake.say({ jsonrpc: '2.0', id: message.id, error: { code: -32002, message: 'Resource not found' } })
      return true
    }
    if (replayFrom)
      for (const [of, update] of past) {
        const id = of === existing.sessionID ? sessionId : of
        fake.say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: id, update } })
      }
    return answer({})
  }
  const { source } = scriptedV2(async (session) => await act(session, canceled()), {}, more)
  const open = async (): Promise<never> => {
    throw new ReplyError('unreachable', 'There is no such command.')
  }
  return {
    source,
    unreachable: createAcpSource(toSettings({ command: 'none' }), open),
    directory: '/project',
    existing,
    prompts: {
      plain: { text: 'plain', answer: 'An answer.' },
      endless: 'endless',
      permission: 'permission',
      always: 'always',
      question: 'question',
      delegate: 'delegate',
    },
    close: async () => source.close(),
  }
}

const skip = {
  ...readableAgentSkips('An ACP agent'),
  'keeps a queued prompt behind a run, and lists it': 'An agent tells that it queues prompts once it has started.',
  'takes back a prompt that waits, once': 'The agent of Claude goes on with it.',
  'lists its models': 'The models are settings of a session, and there is none yet.',
  'lists its commands': 'The commands are those of a session, and there is none yet.',
  'runs a command': 'The scripted agent has none.',
  'tells the agent why a permission is rejected': 'The answer to a permission is one of the options, without words.',
} as const

for (const { name, run } of sourceContract({ name: 'an ACP agent of version 2', setup, skip })) test(name, run)
