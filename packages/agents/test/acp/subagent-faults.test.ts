import { type Ask, type Reply, type ReplyError, textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { expect, test } from 'vitest'
import { chunk, scripted, type Turn } from './agent.ts'

/** The reply to a prompt that the agent answers like this, and the errors meanwhile. */
async function replied(
  act: (turn: Turn) => void | Promise<void>,
  onAsk: (ask: Ask) => 'once' | 'reject' = () => 'once',
) {
  const errors: ReplyError[] = []
  const { source } = scripted(act, { onError: (error) => errors.push(error) })
  const client = connectSource(source)
  const stream = client.prompt(
    { text: 'Go.' },
    {
      observe: () => [
        {
          permissionAsked: ({ ask }) => void (onAsk(ask) === 'once' ? client.answer(ask, 'once') : client.reject(ask)),
        },
      ],
    },
  )
  const reply = await stream.result
  await client.close()
  return { reply, errors }
}

const subagent = (sessionId: string, state?: object, more: object = {}) => ({
  sessionUpdate: 'subagent_update',
  sessionId,
  ...(state && { state }),
  ...more,
})
const running = { state: 'running' }
const idle = { state: 'idle', stopReason: 'end_turn' }
const completed = { stopReason: 'end_turn' }

const options = ['allow_once', 'reject_once'].map((kind) => ({ optionId: kind, kind, name: kind }))
const permission = (sessionId: string) => ({
  sessionId,
  toolCall: { toolCallId: `call_${sessionId}`, title: 'ls' },
  options,
})

function childrenOf({ children }: Reply) {
  return children.map(({ title, reply }) => [title, reply.outcome, textOf(reply)])
}

test('the output and the sub-agents of a session that is unknown are skipped, and reported once', async () => {
  const answers: unknown[] = []
  const { reply, errors } = await replied(async ({ say, ask, end }) => {
    say(chunk('Lost.'), 'ses_other')
    say(subagent('child', running), 'ses_other')
    say(chunk('Lost.'), 'child')
    answers.push(await ask('session/request_permission', permission('child')))
    say(chunk('Here.'))
    end(completed)
  })
  expect([textOf(reply), reply.outcome, reply.children, reply.asks]).toEqual(['Here.', 'completed', [], []])
  expect(answers).toEqual([{ outcome: { outcome: 'cancelled' } }])
  expect(errors.map(({ message }) => message)).toEqual(
    ['ses_other', 'child'].map(
      (id) => `agent sent output of the session ${id}, which it did not announce. It was skipped.`,
    ),
  )
})

test('an answer to one of two sub-agents that ask goes to that one', async () => {
  const answers: unknown[] = []
  const { reply } = await replied(
    async ({ say, ask, end }) => {
      say(subagent('a', running, { title: 'A' }))
      say(subagent('b', running, { title: 'B' }))
      say(chunk('I am B.'), 'b')
      say(chunk('I am A.'), 'a')
      const asked = ['a', 'b'].map(async (id) => await ask('session/request_permission', permission(id)))
      answers.push(...(await Promise.all(asked)))
      say(subagent('b', { state: 'idle', stopReason: 'cancelled' }))
      say(subagent('a', idle))
      end(completed)
    },
    ({ sessionID }) => (sessionID === 'a' ? 'reject' : 'once'),
  )
  expect(answers).toEqual(
    ['reject_once', 'allow_once'].map((optionId) => ({ outcome: { outcome: 'selected', optionId } })),
  )
  expect(childrenOf(reply)).toEqual([
    ['B', 'aborted', 'I am B.'],
    ['A', 'completed', 'I am A.'],
  ])
})

test('a sub-agent that is only announced begins before its parent ends, and one that only ended does not', async () => {
  const { reply } = await replied(({ say, end }) => {
    say(subagent('ended', idle))
    say(subagent('announced', undefined, { title: 'Later' }))
    say(subagent('announced', { state: 'of version 3' }))
    say({ sessionUpdate: 'subagent_update' })
    end(completed)
  })
  expect(reply.children.map(({ title, background }) => [title, background])).toEqual([['Later', true]])
  expect(toolsOf(reply)).toMatchObject([
    { tool: 'task', state: { status: 'completed', input: { description: 'Later' } } },
  ])
})

test('a sub-agent that names itself or its child as its parent ends nothing else', async () => {
  const { reply } = await replied(({ say, sessionID, end }) => {
    say(subagent(sessionID, running))
    say(subagent('a', running))
    say(subagent('b', running), 'a')
    say(subagent('a', running), 'b')
    say(chunk('Deep.'), 'b')
    say(subagent('b', idle), 'a')
    say(subagent('a', idle))
    say(chunk('Done.'))
    end(completed)
  })
  expect([textOf(reply), reply.outcome]).toEqual(['Done.', 'completed'])
  expect(reply.children.map((child) => childrenOf(child.reply))).toEqual([[[undefined, 'completed', 'Deep.']]])
})

test('a sub-agent that is prompted again is another run of its session', async () => {
  const { reply } = await replied(({ say, end }) => {
    const message = (messageId: string, text: string) => ({
      sessionUpdate: 'session_message',
      messageId,
      recipientSessionId: 'a',
      content: [{ type: 'text', text }],
    })
    say(subagent('a', running, { title: 'A' }))
    say(message('m1', 'Look.'))
    say(chunk('Once.'), 'a')
    say(subagent('a', idle))
    say(subagent('a', undefined, { capabilities: { cancel: null } }))
    say(chunk('Too late.'), 'a')
    say(subagent('a', running))
    say(message('m2', 'Look again.'))
    say(chunk('Twice.'), 'a')
    say(subagent('a', { state: 'idle', stopReason: 'error', error: { code: 1, message: 'No more tokens.' } }))
    end(completed)
  })
  expect(childrenOf(reply)).toEqual([
    ['A', 'completed', 'Once.'],
    ['A', 'failed', 'Twice.'],
  ])
  expect(reply.children.map((child) => child.reply.prompt?.text)).toEqual(['Look.', 'Look again.'])
  expect(toolsOf(reply).map(({ state }) => state.error)).toEqual([undefined, 'No more tokens.'])
})

test('a sub-agent ends with the agent that dies', async () => {
  const { source, fakes } = scripted(({ say }) => {
    say(subagent('a', running, { title: 'A' }))
    say(chunk('I work.'), 'a')
    fakes[0]?.die('was ended by SIGKILL')
  })
  const client = connectSource(source)
  const reply = await client.prompt({ text: 'Go.' }).result
  expect([reply.outcome, childrenOf(reply)]).toEqual(['failed', [['A', 'aborted', 'I work.']]])
  await client.close()
})

test('a plan is a checklist, a text or a file', async () => {
  const plan = (fields: object) => ({ sessionUpdate: 'plan_update', plan: { planId: 'p', ...fields } })
  const { reply } = await replied(({ say, end }) => {
    say(chunk('I plan.'))
    say(plan({ type: 'items', entries: [{ content: 'Read', status: 'pending', priority: 'high' }] }))
    say(plan({ type: 'markdown', content: '# Pl' }))
    say(plan({ type: 'markdown', content: '# Plan\n1. Read' }))
    say(plan({ type: 'file', uri: 'file:///plan.md' }))
    say(plan({ type: 'of version 3' }))
    end(completed)
  })
  expect(reply.todos).toEqual([{ content: 'Read', status: 'pending', priority: 'high' }])
  const parts = reply.messages.flatMap((message) => message.parts)
  expect(parts.map((part) => (part.type === 'text' ? part.text : part.type === 'file' && part.url))).toEqual([
    'I plan.',
    '# Plan\n1. Read',
    'file:///plan.md',
  ])
})

test('a session is never below itself, also if its own sub-agents say so', async () => {
  const { reply } = await replied(({ say, end }) => {
    say(subagent('a', running, { title: 'A' }))
    say(subagent('b', running, { title: 'B' }), 'a')
    say(chunk('I am B.'), 'b')
    say(subagent('a', idle))
    say(subagent('ses_1', running), 'b')
    say(subagent('a', running), 'b')
    say(chunk('Still here.'))
    say(subagent('b', idle), 'a')
    end(completed)
  })
  expect([textOf(reply), reply.outcome, childrenOf(reply)]).toEqual([
    'Still here.',
    'completed',
    [['A', 'completed', '']],
  ])
})
