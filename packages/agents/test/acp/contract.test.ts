import { ReplyError } from '@reply/core'
import { type SourceStage, sourceContract } from '@reply/core/testing'
import { test } from 'vitest'
import { toSettings } from '../../src/acp/options.ts'
import { createAcpSource } from '../../src/acp/source.ts'
import { chunk, scripted, type Turn } from './agent.ts'
import { contractSkips } from './skips.ts'

let calls = 0
const allowed = new Set<string>()

async function act(turn: Turn): Promise<void> {
  const { text, say, end } = turn
  if (text === 'endless') {
    say(chunk('On and on.'))
    await turn.canceled
    return end({ stopReason: 'cancelled' })
  }
  if (text === 'question') {
    const property = { type: 'string', enum: ['Red', 'Blue'] }
    await turn.ask('elicitation/create', {
      mode: 'form',
      message: 'Which?',
      requestedSchema: { type: 'object', properties: { color: property } },
    })
  }
  if (text === 'permission' || text === 'always') await permit(turn)
  if (text === 'plain') say(chunk('An answer.'))
  end({ stopReason: 'end_turn' })
}

async function permit({ text, say, ask }: Turn): Promise<void> {
  calls += 1
  const toolCallId = `call_${calls}`
  say({ sessionUpdate: 'tool_call', toolCallId, title: 'ls', kind: 'execute', status: 'pending' })
  if (!allowed.has(text)) {
    const options = ['allow_once', 'allow_always', 'reject_once'].map((kind) => ({ optionId: kind, kind, name: kind }))
    const toolCall = { toolCallId, rawInput: { command: 'ls' } }
    const answer = JSON.stringify(await ask('session/request_permission', { toolCall, options }))
    if (answer.includes('allow_always')) allowed.add(text)
    const status = answer.includes('allow') ? 'completed' : 'failed'
    return say({ sessionUpdate: 'tool_call_update', toolCallId, status })
  }
  say({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' })
}

async function setup(): Promise<SourceStage> {
  const { source } = scripted(act)
  const open = async (): Promise<never> => {
    throw new ReplyError('unreachable', 'There is no such command.')
  }
  return {
    source,
    unreachable: createAcpSource(toSettings({ command: 'none' }), open),
    directory: '/project',
    prompts: {
      plain: { text: 'plain', answer: 'An answer.' },
      endless: 'endless',
      permission: 'permission',
      always: 'always',
      question: 'question',
    },
    close: async () => source.close(),
  }
}

for (const { name, run } of sourceContract({ name: 'an ACP agent', setup, skip: contractSkips })) test(name, run)
