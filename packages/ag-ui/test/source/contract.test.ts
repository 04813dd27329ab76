import type { Source } from '@reply/core/source'
import { type ExistingSession, readableAgentSkips, type SourceStage, sourceContract } from '@reply/core/testing'
import { test } from 'vitest'
import { agUi } from '../../src/index.ts'
import { call, type FakeRun, result, say, startFakeAgent } from './fake-agent.ts'

const allowed = new Set<string>()

/** Asks before it lists a folder, as TanStack AI, Mastra or LangGraph do. */
function permit(run: FakeRun, word: string, more: Readonly<Record<string, unknown>> = {}): void {
  const { send, finish, input } = run
  const answered = input.resume?.[0]
  if (answered) {
    const payload = JSON.stringify(answered.payload ?? '')
    if (payload.includes('always')) allowed.add(word)
    const isAllowed = answered.status === 'resolved' && !payload.includes('reject')
    send(result(answered.interruptId, isAllowed ? 'a.txt' : `Refused: ${answered.metadata?.reason}`, more))
    return finish()
  }
  const id = `call-${input.runId}`
  send(...call(id, 'list', { path: '.' }, more))
  if (allowed.has(word)) {
    send(result(id, 'a.txt', more))
    return finish()
  }
  const responseSchema = { type: 'string', enum: ['once', 'always', 'reject'] }
  const interrupt = { id, reason: 'tool_call', toolCallId: id, responseSchema, ...more }
  finish({ type: 'interrupt', interrupts: [interrupt] })
}

async function act(run: FakeRun): Promise<'stays' | undefined> {
  const { send, finish, text, input } = run
  send({ type: 'RUN_STARTED', threadId: input.threadId, runId: input.runId })
  const words = JSON.stringify(input.messages)
  if (text === 'endless') {
    send(...say('m1', 'On and on.'))
    return 'stays'
  }
  if (words.includes('"permission"')) permit(run, 'permission')
  else if (words.includes('"always"')) permit(run, 'always')
  else if (words.includes('"question"') && !input.resume) {
    const responseSchema = { type: 'object', properties: { color: { type: 'string', enum: ['Red', 'Blue'] } } }
    finish({
      type: 'interrupt',
      interrupts: [{ id: 'q', reason: 'input_required', message: 'Which?', responseSchema }],
    })
  } else if (words.includes('"delegate"')) {
    const subagentRunId = 'sub-1'
    if (!input.resume) send(...call('task-1', 'task', { description: 'Look around' }))
    send({ type: 'SUBAGENT_STARTED', subagentRunId, name: 'explore', parentToolCallId: 'task-1' })
    permit(run, 'delegate', { subagentRunId })
  } else {
    if (text === 'helped') {
      const subagentRunId = 'helper'
      send({ type: 'SUBAGENT_STARTED', subagentRunId, name: 'explore' }, ...say('m0', 'I helped.', { subagentRunId }))
      send({ type: 'SUBAGENT_FINISHED', subagentRunId })
    }
    send(...say('m1', 'An answer.'))
    finish()
  }
  return undefined
}

/** Runs two prompts in a new session, and returns what it has then. */
async function createExisting(source: Source): Promise<ExistingSession> {
  const abort = new AbortController()
  const { sessionID } = await source.create({ directory: '/project' })
  const messageIDs = new Set<string>()
  let idleCount = 0
  for await (const events of source.connect({ signal: abort.signal, directory: '/project' })) {
    for (const event of events) {
      if (event.type === 'connected') await source.prompt({ sessionID, directory: '/project' }, { text: 'plain' })
      if (!('sessionID' in event) || event.sessionID !== sessionID) continue
      if (event.type === 'message') messageIDs.add(event.message.id)
      if (event.type !== 'status' || event.status !== 'idle') continue
      idleCount += 1
      if (idleCount === 1) await source.prompt({ sessionID, directory: '/project' }, { text: 'helped' })
      else abort.abort()
    }
  }
  return { sessionID, messageIDs: [...messageIDs], answer: 'An answer.', childIDs: [`${sessionID}.helper`] }
}

async function setup(): Promise<SourceStage> {
  const agent = await startFakeAgent(act)
  const gone = await startFakeAgent(act)
  await gone.close()
  const headers = { authorization: 'Bearer s3cret-token' }
  const source = agUi({ url: agent.url, headers })
  return {
    source,
    unreachable: agUi({ url: gone.url, headers }),
    directory: '/project',
    prompts: {
      plain: { text: 'plain', answer: 'An answer.' },
      endless: 'endless',
      permission: 'permission',
      always: 'always',
      question: 'question',
      delegate: 'delegate',
    },
    existing: await createExisting(source),
    secrets: ['s3cret-token'],
    close: async () => {
      source.close()
      await agent.close()
    },
  }
}

const skip = {
  ...readableAgentSkips('An AG-UI agent'),
  'forks a session with its messages': "AG-UI can't copy a thread.",
  'lists its models': 'AG-UI does not tell which models an agent has.',
  'lists its commands': 'AG-UI has no slash commands.',
  'runs a command': 'AG-UI has no slash commands.',
}
for (const { name, run } of sourceContract({ name: 'an AG-UI agent', setup, skip })) test(name, run)
