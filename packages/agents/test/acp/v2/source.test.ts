import { answerOf, observerOf, type Reply, type ReplyError, textOf, toolsOf } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { clientOf } from '../../../src/acp/client.ts'
import { toSettings } from '../../../src/acp/options.ts'
import { longestHoldMs } from '../../../src/acp/turns.ts'
import type { AcpOptions } from '../../../src/acp.ts'
import { collectReplies } from '../../collect-replies.ts'
import { chunk, scripted } from '../agent.ts'
import { idle, running, type SessionV2, said, scriptedV2 } from './agent.ts'

const options = { command: 'agent', cwd: '/project', files: 'none' } as const

/** A client of a scripted agent, with the settled replies of its folder, in order. */
async function stage(
  act: (session: SessionV2) => void | Promise<void>,
  more: Partial<AcpOptions> = {},
  answer?: Parameters<typeof scriptedV2>[2],
) {
  const errors: ReplyError[] = []
  const { source, heard } = scriptedV2(act, { onError: (error) => errors.push(error), ...more }, answer)
  const client = clientOf(source, options)
  const settled: Reply[] = []
  let look = (): void => {}
  const collect = observerOf((observation) => {
    if (observation.type === 'replySettled') settled.push(observation.reply)
    look()
  })
  await client.ready
  client.watch({}, { observe: () => [collect] })
  const replies = async (count: number): Promise<readonly Reply[]> => {
    await new Promise<void>((resolve) => {
      look = () => settled.length >= count && resolve()
      look()
    })
    return settled
  }
  return { client, source, errors, heard, replies }
}

const summary = (replies: readonly Reply[]) =>
  replies.map((reply) => [reply.prompt?.text ?? '', textOf(reply), reply.outcome])

test('a prompt ends with the idle state after it was accepted', async () => {
  const { client, heard } = await stage(({ say, accept }) => {
    say({ sessionUpdate: 'user_message', messageId: 'prompt_1', content: [{ type: 'text', text: 'Go.' }] })
    accept()
    say(running)
    say(said('An answer.'))
    say({ ...idle, usage: { inputTokens: 12, outputTokens: 3, totalTokens: 15 } })
  })
  const reply = await client.prompt({ text: 'Go.', agent: 'plan' }).result
  expect([reply.outcome, textOf(reply), reply.usage.input]).toEqual(['completed', 'An answer.', 12])
  expect(heard.map(({ method }) => method)).toEqual([
    'initialize',
    'session/list',
    'session/new',
    'session/set_config_option',
    'session/prompt',
  ])
  expect(heard[0]?.params).toMatchObject({ protocolVersion: 2, info: { name: 'reply' }, clientInfo: { name: 'reply' } })
  expect(heard[3]?.params).toEqual({ sessionId: 'ses_1', configId: 'mode', type: 'id', value: 'plan' })
  await client.close()
})

test('an agent may begin to work before it accepts the prompt', async () => {
  const { client } = await stage(({ say, accept }) => {
    say(running)
    accept()
    say(said('An answer.'))
    say(idle)
  })
  expect(textOf(await client.prompt({ text: 'Go.' }).result)).toBe('An answer.')
  await client.close()
})

test('work that no prompt began is a reply without a prompt', async () => {
  const { client, replies } = await stage(({ say, accept }) => {
    accept()
    say(running)
    say(said('It runs.'))
    say({ ...idle, background: [{ type: 'terminal', terminalId: 't1' }] })
    say({ sessionUpdate: 'state_update', state: 'idle', background: [] })
    say(running)
    say(said('It is ready.', 'm2'))
    say(idle)
  })
  void client.prompt({ text: 'Go.' })
  expect(summary(await replies(2))).toEqual([
    ['Go.', 'It runs.', 'completed'],
    ['', 'It is ready.', 'completed'],
  ])
  await client.close()
})

test('a prompt that is sent while the agent works by itself gets its own answer', async () => {
  const { client } = await stage(({ text, say, accept }) => {
    if (text === 'First.') {
      accept()
      say(running)
      return say(idle)
    }
    say(running)
    say(said('By itself. '))
    say(idle)
    accept()
    say(running)
    say(said('The answer.', 'm2'))
    say(idle)
  })
  const { sessionID } = await client.prompt({ text: 'First.' }).result
  const reply = await client.prompt({ text: 'Second.', sessionID }).result
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', expect.stringMatching(/The answer\.$/)])
  await client.close()
})

/** The user's message with the id that `accept` answers with for the second prompt. */
const sent = { sessionUpdate: 'user_message', messageId: 'prompt_2', content: [{ type: 'text', text: 'Second.' }] }

/** The messages of the session after a first prompt, with the texts of each, once the second prompt has its answer. */
async function secondOf(act: (session: SessionV2) => void | Promise<void>) {
  const { client, source } = await stage(async (session) => {
    if (session.text === 'Second.') return await act(session)
    session.say(running)
    session.accept()
    session.say(idle)
  })
  const first = await client.prompt({ text: 'First.' }).result
  const { sessionID } = first
  const reply = await client.prompt(
    { text: 'Second.', sessionID },
    { observe: () => [{ permissionAsked: ({ ask }) => void client.answer(ask, 'once') }] },
  ).result
  const { messages } = await source.startReading().session({ sessionID, directory: '/project' }, { messageIDs: [] })
  await client.close()
  const texts = messages.map(({ head, parts }) => [
    head.role,
    parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(),
  ])
  return { reply, texts: texts.slice(2) }
}

const both = [
  ['user', 'agent goes on by itself.'],
  ['assistant', 'By itself.'],
  ['user', 'Second.'],
  ['assistant', 'The answer.'],
]

test.each<readonly [string, (session: SessionV2) => readonly (object | (() => void))[]]>([
  ['its message, and then accepted', ({ accept }) => [sent, accept, running]],
  ['its message, after it was accepted', ({ accept }) => [accept, sent, running]],
  ['its message, and then accepted, when the work on it has begun', ({ accept }) => [running, sent, accept]],
])('work that ends before a prompt is inserted is not its answer: %s', async (_, steps) => {
  const { reply, texts } = await secondOf((session) => {
    for (const step of [running, said('By itself.'), idle, ...steps(session)])
      if (typeof step === 'function') step()
      else session.say(step)
    session.say(said('The answer.', 'm2'))
    session.say(idle)
  })
  expect([reply.outcome, answerOf(reply)]).toEqual(['completed', 'The answer.'])
  expect(texts).toEqual(both)
})

test.each<readonly [string, (session: SessionV2) => readonly (object | (() => void))[]]>([
  ['in work of its own', () => [idle, sent, running]],
  ['in work that has begun', () => [idle, running, sent]],
  ['in the same work', () => [sent]],
  ['never', () => [idle, running]],
])('work goes on as before until an accepted prompt is inserted: %s', async (_, steps) => {
  const { reply, texts } = await secondOf((session) => {
    session.say(running)
    session.say(said('By '))
    session.accept()
    session.say(said('itself.'))
    for (const step of steps(session)) session.say(step)
    session.say(said('The answer.', 'm2'))
    session.say(idle)
  })
  expect([reply.outcome, answerOf(reply)]).toEqual(['completed', 'The answer.'])
  expect(texts).toEqual(both)
})

test('a prompt that was accepted is aborted with the work before it', async () => {
  const { reply, texts } = await secondOf((session) => {
    session.say(running)
    session.say(said('By itself.'))
    session.accept()
    session.say({ ...idle, stopReason: 'cancelled' })
  })
  expect([reply.outcome, texts]).toEqual(['aborted', [...both.slice(0, 3), ['assistant', '']]])
})

test.each<readonly [string, readonly object[], readonly object[]]>([
  ['in the middle', [running, said('By itself.'), idle, running, sent, said('The ')], [said('answer.'), idle]],
  ['at the end', [running, said('By itself.'), idle, sent, running, said('The '), said('answer.'), idle], []],
])('the message of a prompt tells whose work it is, also if the response comes %s', async (_, before, after) => {
  const { texts } = await secondOf((session) => {
    for (const update of before) session.say(update)
    session.accept()
    for (const update of after) session.say(update)
  })
  expect(texts).toEqual(both)
})

test('an ask waits until it is known whose it is', async () => {
  const { reply, texts } = await secondOf(async ({ say, ask, accept }) => {
    say(running)
    say(said('By itself.'))
    say(idle)
    say(sent)
    say(running)
    const toolCall = { toolCallId: 'c', name: 'bash', rawInput: { command: 'ls' } }
    const subject = { type: 'tool_call', toolCall }
    const answered = ask('session/request_permission', { title: 'ls', subject, options: permissionOptions })
    accept()
    await answered
    say(said('The answer.', 'm2'))
    say(idle)
  })
  expect(reply.asks).toMatchObject([{ status: 'answered', title: 'ls' }])
  expect(texts).toEqual([...both.slice(0, 3), ['assistant', ''], ...both.slice(3)])
})

test('work without output begins no run, unless it has failed', async () => {
  const failed = { ...idle, stopReason: 'error', error: { code: -32603, message: 'No.' } }
  const texts = async (end: object) =>
    (
      await secondOf(({ say, accept }) => {
        say(running)
        say({ sessionUpdate: 'usage_update', used: 1, size: 2 })
        say(end)
        say(sent)
        accept()
        say(running)
        say(said('The answer.', 'm2'))
        say(idle)
      })
    ).texts
  expect(await texts(idle)).toEqual(both.slice(2))
  expect(await texts(failed)).toEqual([both[0], ['assistant', ''], ...both.slice(2)])
})

test('a prompt that the agent takes into its work ends the run before', async () => {
  const { reply, texts } = await secondOf(({ say, accept }) => {
    say(running)
    say(said('By itself.'))
    say(sent)
    accept()
    say(said('The answer.', 'm2'))
    say(idle)
  })
  expect([reply.outcome, texts]).toEqual(['completed', both])
})

/** Sends a prompt to the work of another one, which ends with `end`. The agent sends `updates` after it has taken it. */
async function joined(updates: readonly object[], end: object, before: readonly object[] = []) {
  const waits: { goOn: () => void } = { goOn: () => {} }
  const { client, source } = await stage(
    async ({ text, say, accept }) => {
      if (text !== 'First.') return
      say(running)
      say({ ...sent, messageId: 'prompt_1' })
      accept()
      say(said('One.'))
      await new Promise<void>((resolve) => {
        waits.goOn = resolve
      })
      for (const update of updates) say(update)
      say(end)
    },
    {},
    (message, fake) => {
      const answer = (result: object): true => {
        fake.say({ jsonrpc: '2.0', id: message.id, result })
        waits.goOn()
        return true
      }
      if (message.method === '_session/steering') {
        for (const update of before)
          fake.say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 'ses_1', update } })
        return answer({ outcome: 'injected' })
      }
      const _meta = { steering: { supported: true } }
      if (message.method !== 'initialize') return false
      return answer({ protocolVersion: 2, info: { name: 'scripted' }, capabilities: { session: {} }, _meta })
    },
  )
  const first = client.prompt({ text: 'First.' })
  await collectReplies(client, '/project').seen((reply) => textOf(reply) === 'One.')
  const second = client.prompt({ text: 'Second.', sessionID: 'ses_1' })
  const replies = await Promise.all([first.result, second.result])
  const { messages } = await source
    .startReading()
    .session({ sessionID: 'ses_1', directory: '/project' }, { messageIDs: [] })
  await client.close()
  return {
    outcomes: replies.map((reply) => [reply.outcome, reply.error?.name]),
    texts: messages.map(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join()),
  }
}

test('a prompt that joins the work gets the output after its message', async () => {
  const piece = { sessionUpdate: 'user_message_chunk', messageId: 'own', content: { type: 'text', text: 'Second.' } }
  const both = {
    outcomes: [
      ['completed', undefined],
      ['completed', undefined],
    ],
    texts: ['First.', 'One. Still one.', 'Second.', 'Two.'],
  }
  expect(await joined([said(' Still one.'), piece, piece, said('Two.', 'm2')], idle)).toEqual(both)
  // Also if the message comes before the response.
  expect(await joined([piece, said('Two.', 'm2')], idle, [said(' Still one.'), piece])).toEqual(both)
})

test('a message of another client is not held for a response that does not come', async () => {
  const clock = createHandClock()
  const steps: { goOn: () => void } = { goOn: () => {} }
  const { client, source } = await stage(
    async ({ text, say, accept, ask }) => {
      if (text === 'First.') {
        say(running)
        accept()
        return say(idle)
      }
      say({ ...sent, messageId: 'of another' })
      say(running)
      say(said('By itself.'))
      const toolCall = { toolCallId: 'c', name: 'bash', rawInput: { command: 'ls' } }
      const subject = { type: 'tool_call', toolCall }
      const answered = ask('session/request_permission', { title: 'ls', subject, options: permissionOptions })
      steps.goOn()
      await answered
      say(idle)
      say(sent)
      accept()
      say(running)
      say(said('The answer.', 'm2'))
      say(idle)
    },
    { clock },
  )
  await client.prompt({ text: 'First.' }).result
  const asked = new Promise<void>((resolve) => {
    steps.goOn = resolve
  })
  // The ask is of the other client's run, so the prompt's own observers don't get it.
  client.on('permissionAsked', ({ ask }) => void client.answer(ask, 'once'))
  const second = client.prompt({ text: 'Second.', sessionID: 'ses_1' })
  await asked
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  clock.advance(longestHoldMs)
  expect(answerOf(await second.result)).toBe('The answer.')
  const place = { sessionID: 'ses_1', directory: '/project' }
  const { messages } = await source.startReading().session(place, { messageIDs: [] })
  expect(messages.map(({ head }) => head.role).slice(2)).toEqual(['user', 'assistant', 'user', 'assistant'])
  await client.close()
})

test.each([
  ['completed', idle, ['failed', 'unread']],
  ['canceled', { ...idle, stopReason: 'cancelled' }, ['aborted', 'MessageAbortedError']],
])('a prompt whose message has not come when the work is %s was not read', async (_, end, ending) => {
  const { outcomes } = await joined([said(' Still one.')], end)
  expect(outcomes.at(-1)).toMatchObject([ending[0], expect.anything()])
})

test('the error of an idle state is the reply’s', async () => {
  const { client } = await stage(({ say, accept }) => {
    accept()
    say(running)
    say({ ...idle, stopReason: 'error', error: { code: -32000, message: 'Authentication required' } })
  })
  const reply = await client.prompt({ text: 'Go.' }).result
  expect(reply).toMatchObject({ outcome: 'failed', error: { name: 'unauthorized' } })
  await client.close()
})

test('a refused prompt fails, and the next one is answered', async () => {
  const { client } = await stage(({ text, say, accept, refuse }) => {
    if (text === 'Bad.') return refuse({ code: -32602, message: 'No.' })
    accept()
    say(running)
    say(idle)
  })
  const reply = await client.prompt({ text: 'Bad.' }).result
  expect(reply).toMatchObject({ outcome: 'failed', error: { name: 'JSON-RPC -32602' } })
  expect((await client.prompt({ text: 'Good.', sessionID: reply.sessionID }).result).outcome).toBe('completed')
  await client.close()
})

test('an agent that dies between running and idle fails the run, and restarts', async () => {
  const { client } = await stage(({ text, say, accept, fake }) => {
    accept()
    say(running)
    say(said('Half'))
    if (text === 'Die.') return fake.die('was ended by SIGKILL')
    say(idle)
  })
  const reply = await client.prompt({ text: 'Die.' }).result
  expect([reply.outcome, textOf(reply)]).toEqual(['failed', 'Half'])
  expect(reply.error?.message).toContain('was ended by SIGKILL')
  expect((await client.prompt({ text: 'Live.' }).result).outcome).toBe('completed')
  await client.close()
})

const permissionOptions = [
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
]

test('a permission for a command without a call shows the command, which ends with the answer', async () => {
  const answers: unknown[] = []
  const { client } = await stage(async ({ say, accept, ask }) => {
    accept()
    say(running)
    const subject = { type: 'command', command: 'rm -r build', cwd: '/project' }
    answers.push(
      await ask('session/request_permission', {
        title: 'Run it?',
        description: 'To build.',
        subject,
        options: permissionOptions,
      }),
    )
    say(idle)
  })
  const reply = await client.prompt(
    { text: 'Go.' },
    { observe: () => [{ permissionAsked: ({ ask }) => void client.answer(ask, 'once') }] },
  ).result
  expect(answers).toEqual([{ outcome: { outcome: 'selected', optionId: 'yes' } }])
  expect(reply.asks).toMatchObject([{ title: 'Run it?', call: { input: { command: 'rm -r build', cwd: '/project' } } }])
  expect(toolsOf(reply)).toMatchObject([{ tool: 'bash', state: { status: 'completed' } }])
  await client.close()
})

test('the empty input of a permission request does not hide the input of its call', async () => {
  const { client } = await stage(async ({ say, accept, ask }) => {
    accept()
    say(running)
    const toolCall = { toolCallId: 'c1', name: 'ExitPlanMode', rawInput: { plan: 'Do it.' } }
    say({ sessionUpdate: 'tool_call_update', ...toolCall })
    const subject = { type: 'tool_call', toolCall: { toolCallId: 'c1', rawInput: {} } }
    await ask('session/request_permission', { title: 'Ready?', subject, options: permissionOptions })
    say(idle)
  })
  const reply = await client.prompt(
    { text: 'Go.' },
    { observe: () => [{ permissionAsked: ({ ask }) => void client.reject(ask) }] },
  ).result
  expect(reply.asks).toMatchObject([{ call: { tool: 'exitplanmode', input: { plan: 'Do it.' } } }])
  await client.close()
})

test('what a later version adds is skipped and reported once, and a malformed update too', async () => {
  const { client, errors } = await stage(({ say, accept }) => {
    accept()
    say(running)
    say({ sessionUpdate: 'telepathy_update', thought: 1 })
    say({ sessionUpdate: 'telepathy_update', thought: 2 })
    say({ sessionUpdate: 'agent_message_chunk', content: 'half' })
    say(said('An answer.'))
    say(idle)
  })
  expect(textOf(await client.prompt({ text: 'Go.' }).result)).toBe('An answer.')
  expect(errors.map(({ type, message }) => [type, message])).toEqual([
    ['unsupported', 'agent sent session updates of the unknown kind "telepathy_update". They are skipped.'],
    ['malformed', 'agent sent a malformed session update. It was skipped.'],
  ])
  await client.close()
})

test('auto takes version 1 of an agent that has no other, and 2 refuses it', async () => {
  const { source, heard } = scripted(
    ({ say, end }) => {
      say(chunk('An answer.'))
      end({ stopReason: 'end_turn' })
    },
    { protocol: 'auto' },
  )
  const client = clientOf(source, options)
  expect(textOf(await client.prompt({ text: 'Go.' }).result)).toBe('An answer.')
  expect(heard[0]?.params).toMatchObject({ protocolVersion: 2, clientCapabilities: {}, info: {} })
  await client.close()
  const strict = clientOf(scripted(() => {}, { protocol: 2, files: 'none' }).source, options)
  const reply = await strict.prompt({ text: 'Go.' }).result
  expect(reply.error?.message).toContain(
    'speaks version 1 of the Agent Client Protocol, not 2. To talk to it, set protocol to 1',
  )
  await strict.close()
})

test('version 1 is asked for unless another is chosen, and refuses an agent that answers 2', async () => {
  const { source, heard } = scriptedV2(() => {}, { protocol: undefined })
  const client = clientOf(source, options)
  const reply = await client.prompt({ text: 'Go.' }).result
  expect(reply.error?.message).toContain(
    'speaks version 2 of the Agent Client Protocol, not 1. To talk to it, set protocol to 2',
  )
  expect(heard[0]?.params).toMatchObject({ protocolVersion: 1 })
  expect(heard[0]?.params).not.toHaveProperty('info')
  await client.close()
})

test('rights that version 2 does not have are refused', () => {
  const invalid = expect.objectContaining({ type: 'invalid' })
  expect(() => toSettings({ command: 'agent', protocol: 2, terminals: true })).toThrow(invalid)
  expect(() => toSettings({ command: 'agent', protocol: 2, files: 'read' })).toThrow(invalid)
  expect(toSettings({ command: 'agent', protocol: 'auto', terminals: true }).protocol).toBe('auto')
})
