import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { answerOf, observerOf, type Reply, textOf } from '../../src/index.ts'
import { connectSource, type LocalRun } from '../../src/source.ts'
import { createScripted } from './local-agent.ts'

/** An agent that is connected, with the settled replies that a watch sees, in order. */
async function stage(more: Parameters<typeof createScripted>[0] = {}) {
  const clock = createHandClock()
  const agent = createScripted({ clock, ...more })
  const client = connectSource(agent.source, { clock, random: () => 0 })
  const settled: Reply[] = []
  const open = new Map<string, Reply>()
  const observer = observerOf((observation) => {
    open.set(observation.reply.sessionID, observation.reply)
    if (observation.type === 'replySettled') settled.push(observation.reply)
  })
  client.watch({}, { observe: () => [observer] })
  await client.ready
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return { agent, client, clock, settled, rest, newest: (sessionID: string) => open.get(sessionID) }
}

const task = { callID: 'task', tool: 'task', input: { description: 'Look around' } }

/** Starts a sub-agent in the background, and ends the run. */
function launch(run: LocalRun): LocalRun {
  const sessionId = `${run.sessionID}_child`
  const { callID, tool, input } = task
  const metadata = { sessionId, background: true }
  run.write({ type: 'tool', callID, tool, state: { status: 'running', input, metadata } })
  const child = run.child({ sessionID: sessionId, title: 'Look around', text: 'Look.', background: true })
  run.write({ type: 'tool', callID, tool, state: { status: 'completed', input, output: 'Launched.', metadata } })
  run.write({ type: 'text', delta: 'It runs.' })
  run.end({ type: 'completed' })
  return child
}

const permission = (requestID: string, reply: (answer: { readonly type: string }) => void) =>
  ({
    type: 'permission',
    requestID,
    permission: 'bash',
    patterns: ['ls'],
    always: [],
    title: 'ls',
    metadata: {},
    reply,
  }) as const

test('a run that the agent begins by itself is a reply without a prompt, after the one before it', async () => {
  const { agent, client, settled, rest } = await stage()
  const { sessionID } = await client.prompt({ text: 'Hello.' }).result
  const run = agent.wake({ sessionID, directory: undefined }, 'A command has ended.')
  expect(agent.wake({ sessionID, directory: undefined }, 'Another one, too.')).toBe(run)
  run.write({ type: 'text', delta: 'The command is done.' })
  run.end({ type: 'completed' })
  await rest()
  expect(settled.map((reply) => [textOf(reply), reply.outcome, reply.prompt?.text ?? ''])).toEqual([
    ['An answer.', 'completed', 'Hello.'],
    ['The command is done.', 'completed', ''],
  ])
  expect(textOf(await client.prompt({ text: 'Hello.', sessionID }).result)).toBe('An answer.')
  await client.close()
})

test("a run of another client's prompt has that prompt, with its id unless a reply of the session has it", async () => {
  const { agent, client, settled, rest } = await stage({ read: async () => {} })
  const { sessionID } = await client.prompt({ text: 'Hello.' }).result
  for (const text of ['From the desk.', 'Again.']) {
    const run = agent.wake(
      { sessionID, directory: undefined },
      { parts: [{ type: 'text', text }], messageID: 'msg_desk' },
    )
    run.write({ type: 'text', delta: 'Done.' })
    run.end({ type: 'completed' })
    await rest()
  }
  expect(settled.map(({ prompt, outcome }) => [prompt?.text, outcome])).toEqual([
    ['Hello.', 'completed'],
    ['From the desk.', 'completed'],
    ['Again.', 'completed'],
  ])
  expect(settled.map(({ promptIDs }) => promptIDs[0] === 'msg_desk')).toEqual([false, true, false])
  await client.close()
})

test('a prompt waits for a run that the agent began by itself', async () => {
  const { agent, client, rest } = await stage()
  const { sessionID } = await client.prompt({ text: 'Hello.' }).result
  const run = agent.wake({ sessionID, directory: undefined }, 'A command has ended.')
  const next = client.prompt({ text: 'Hello again.', sessionID })
  await rest()
  expect(agent.heard).toEqual(['Hello.'])
  run.write({ type: 'text', delta: 'The command is done.' })
  run.end({ type: 'completed' })
  expect(textOf(await next.result)).toBe('An answer.')
  await client.close()
})

test('a sub-agent in the background outlives its run, asks in the next reply, and ends by itself', async () => {
  let child: LocalRun | undefined
  const answers: string[] = []
  const { client, settled, rest, newest } = await stage({
    prompt: async (run) => {
      child = launch(run)
    },
  })
  const reply = await client.prompt({ text: 'Delegate.' }).result
  expect([reply.outcome, textOf(reply), reply.children[0]?.background, child?.isOpen()]).toEqual([
    'completed',
    'It runs.',
    true,
    true,
  ])
  child?.ask(permission('per_1', ({ type }) => answers.push(type)))
  await rest()
  const [ask] = newest(reply.sessionID)?.asks ?? []
  expect(ask?.path).toEqual([reply.sessionID, `${reply.sessionID}_child`])
  if (ask) await client.answer(ask, 'once')
  child?.write({ type: 'text', delta: 'I looked.' })
  child?.end({ type: 'completed' })
  await rest()
  expect(answers).toEqual(['once'])
  const last = settled.at(-1)
  expect([
    settled.length,
    last?.children[0]?.reply.outcome,
    last?.children[0] && textOf(last.children[0].reply),
  ]).toEqual([2, 'completed', 'I looked.'])
  await client.close()
})

describe.each([
  ['can be read, and takes prompts while it is busy', { canRead: true, takesPromptsWhileBusy: true }],
  ['can be read, and takes one prompt at a time', { canRead: true, takesPromptsWhileBusy: false }],
  ["can't be read, and takes prompts while it is busy", { canRead: false, takesPromptsWhileBusy: true }],
  ["can't be read, and takes one prompt at a time", { canRead: false, takesPromptsWhileBusy: false }],
])('beside a sub-agent in the background, if the agent %s', (_, { canRead, takesPromptsWhileBusy }) => {
  /** A session in which only the sub-agent goes on. `send` lets the next prompt begin. */
  async function delegated() {
    let child: LocalRun | undefined
    let send = (): void => {}
    const staged = await stage({
      ...(canRead && { read: async () => {} }),
      capabilities: () => ({ takesPromptsWhileBusy, keepsPromptIDs: true }),
      prompt: async (run, { text }) => {
        if (text === 'Delegate.') child = launch(run)
        else
          await new Promise<void>((resolve) => {
            send = resolve
          })
        if (text === 'Delegate.') return
        run.write({ type: 'text', delta: 'The answer.' })
        run.end({ type: 'completed' })
      },
    })
    const { sessionID } = await staged.client.prompt({ text: 'Delegate.' }).result
    return { ...staged, sessionID, child: child ?? expect.fail(), send: () => send() }
  }
  const told = (replies: readonly Reply[]) =>
    replies.map((reply) => [textOf(reply), reply.outcome, reply.prompt?.text, reply.children[0]?.reply.phase])
  const first = ['It runs.', 'completed', 'Delegate.', 'working']

  // The session's idle status is as new as the read before the post, or older.
  test.each([0, 1])('a prompt has a reply of its own, with its answer alone (%d ms later)', async (laterMs) => {
    const { client, clock, settled, rest, sessionID, child, send } = await delegated()
    child.ask(permission('per_1', () => {}))
    await rest()
    await clock.advance(laterMs)
    const stream = client.prompt({ text: 'Two.', sessionID })
    await rest()
    send()
    const reply = await stream.result
    expect([stream.joined, reply.promptIDs.length, reply.asks[0]?.status]).toEqual([false, 1, 'pending'])
    child.write({ type: 'text', delta: 'I looked.' })
    child.end({ type: 'completed' })
    await rest()
    expect(told(settled)).toEqual([
      first,
      ['', 'completed', undefined, 'blocked'],
      ['The answer.', 'completed', 'Two.', 'blocked'],
      ['', 'completed', undefined, 'settled'],
    ])
    await client.close()
  })

  test('a prompt that comes before the sub-agent goes on is answered in the same way', async () => {
    const { client, settled, rest, sessionID, child, send } = await delegated()
    const stream = client.prompt({ text: 'Two.', sessionID })
    await rest()
    child.ask(permission('per_1', () => {}))
    await rest()
    send()
    await stream.result
    expect(told(settled)).toEqual([first, ['The answer.', 'completed', 'Two.', 'blocked']])
    await client.close()
  })

  test('a prompt of pictures alone is not over with the sub-agent', async () => {
    const { client, settled, rest, sessionID, child, send } = await delegated()
    child.write({ type: 'text', delta: 'I look.' })
    await rest()
    const stream = client.prompt({ files: [{ mime: 'image/png', url: 'data:image/png;base64,AA==' }], sessionID })
    await rest()
    child.end({ type: 'completed' })
    await rest()
    send()
    expect(textOf(await stream.result)).toBe('The answer.')
    expect(settled.map(textOf)).toEqual(['It runs.', '', 'The answer.'])
    await client.close()
  })

  test('a run that the agent begins by itself is a reply without a prompt', async () => {
    const { agent, client, settled, rest, sessionID, child } = await delegated()
    child.write({ type: 'text', delta: 'I look.' })
    await rest()
    const woken = agent.wake({ sessionID, directory: undefined }, 'A command has ended.')
    woken.write({ type: 'text', delta: 'The command is done.' })
    woken.end({ type: 'completed' })
    await rest()
    expect(settled.map(textOf)).toEqual(['It runs.', '', 'The command is done.'])
    await client.close()
  })
})

test('an abort of the session cancels a sub-agent in the background, whose run has ended', async () => {
  const canceled: string[] = []
  const answers: string[] = []
  let child: LocalRun | undefined
  const { client, rest, settled } = await stage({
    prompt: async (run) => {
      child = launch(run)
    },
    cancel: (run) => {
      canceled.push(run.sessionID)
      run.end({ type: 'aborted' })
    },
  })
  const { sessionID } = await client.prompt({ text: 'Delegate.' }).result
  child?.ask(permission('per_1', ({ type }) => answers.push(type)))
  await rest()
  await client.abort({ sessionID })
  await rest()
  expect([canceled, answers, child?.isOpen()]).toEqual([[`${sessionID}_child`], ['canceled'], false])
  expect(settled.at(-1)?.children[0]?.reply.outcome).toBe('aborted')
  await client.close()
})

test.each(['answered', 'canceled'] as const)(
  'an ask whose answer ends the run at once is closed once: %s',
  async (how) => {
    const seen: string[] = []
    const { client, rest } = await stage({
      prompt: async (run) => {
        run.ask(
          permission('per_1', ({ type }) => {
            seen.push(type)
            run.end({ type: 'completed' })
          }),
        )
        if (how === 'canceled') run.end({ type: 'completed' })
      },
    })
    const stream = client.prompt({ text: 'Hello.' })
    await rest()
    const [ask] = stream.reply?.asks ?? []
    if (how === 'answered' && ask) await client.answer(ask, 'once')
    const { outcome, asks } = await stream.result
    expect([outcome, asks[0]?.status, seen]).toEqual(
      how === 'answered' ? ['completed', 'answered', ['once']] : ['completed', 'withdrawn', ['canceled']],
    )
    await client.close()
  },
)

test.each([true, false])('an agent that queues prompts answers each with its own text (joins: %s)', async (joins) => {
  const waiting: LocalRun[] = []
  const { agent, client, clock, rest } = await stage({
    capabilities: () => ({ queuesPrompts: true, takesPromptsWhileBusy: joins }),
    prompt: async (run) => void waiting.push(run),
  })
  const first = client.prompt({ text: 'One.' })
  await rest()
  const { sessionID } = first.reply ?? { sessionID: '' }
  const second = client.prompt({ text: 'Two.', sessionID, delivery: 'queue' })
  await rest()
  expect([waiting.length, agent.run(sessionID)]).toEqual([2, waiting[0]])
  const queued = async () => await agent.source.waiting?.({ sessionID, directory: undefined })
  expect(await queued()).toEqual([waiting[1]?.promptID])
  // A prompt waits without end.
  for (let minute = 0; minute < 5; minute++) {
    clock.advance(60_000)
    await rest()
  }
  for (const [at, run] of waiting.entries()) {
    run.write({ type: 'text', delta: `Answer ${at + 1}.` })
    run.end({ type: 'completed' })
  }
  expect([textOf(await first.result), textOf(await second.result)]).toEqual(['Answer 1.', 'Answer 2.'])
  expect(await queued()).toEqual([])
  await client.close()
})

test('a prompt that joins a busy session is part of its reply, which ends with the last run', async () => {
  const waiting: LocalRun[] = []
  const { client, rest } = await stage({
    capabilities: () => ({ takesPromptsWhileBusy: true }),
    prompt: async (run) => void waiting.push(run),
  })
  const first = client.prompt({ text: 'One.' })
  await rest()
  const second = client.prompt({ text: 'Two.', sessionID: first.reply?.sessionID })
  await rest()
  for (const [at, run] of waiting.entries()) {
    run.write({ type: 'text', delta: `Answer ${at + 1}.` })
    run.end({ type: 'completed', finish: at === 0 ? 'tool-calls' : 'stop' })
  }
  const replies = await Promise.all([first.result, second.result])
  expect(replies.map((reply) => [textOf(reply), reply.promptIDs.length])).toEqual([
    ['Answer 1.\n\nAnswer 2.', 2],
    ['Answer 1.\n\nAnswer 2.', 2],
  ])
  expect(second.joined).toBe(true)
  await client.close()
})

test("a run that the agent begins while a prompt is on its way is not the prompt's answer", async () => {
  let send = (): void => {}
  const { agent, client, settled, rest } = await stage({
    prompt: async (run, { text }) => {
      if (text === 'Slow.')
        await new Promise<void>((resolve) => {
          send = resolve
        })
      run.write({ type: 'text', delta: 'The answer.' })
      run.end({ type: 'completed' })
    },
  })
  const { sessionID } = await client.prompt({ text: 'Hello.' }).result
  const slow = client.prompt({ text: 'Slow.', sessionID })
  await rest()
  const own = agent.wake({ sessionID, directory: undefined }, 'A command has ended.')
  own.write({ type: 'text', delta: 'The command is done.' })
  own.end({ type: 'completed' })
  await rest()
  send()
  const reply = await slow.result
  expect([textOf(reply), answerOf(reply), reply.outcome]).toEqual([
    'The command is done.\n\nThe answer.',
    'The answer.',
    'completed',
  ])
  expect(settled).toHaveLength(2)
  await client.close()
})

test('an abort whose answered ask ends the run kills nothing later', async () => {
  const killed: string[] = []
  const clock = createHandClock()
  const agent = createScripted({
    clock,
    kill: ({ sessionID }) => void killed.push(sessionID),
    prompt: async (run) => {
      run.ask(permission('per', () => run.end({ type: 'aborted' })))
    },
  })
  const client = connectSource(agent.source, { clock, random: () => 0 })
  const stream = client.prompt({ text: 'Hello.' })
  for await (const change of stream) {
    if (change.type !== 'permissionAsked') continue
    await agent.source.abort({ sessionID: change.ask.sessionID, directory: undefined })
  }
  await stream.result
  clock.advance(60_000)
  expect(killed).toEqual([])
  await client.close()
})
