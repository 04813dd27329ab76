import { describe, expect, test } from 'vitest'
import { type Reply, type ReplyError, replay, textOf, toolsOf } from '../../src/index.ts'

const sessionID = 'ses_1'
const location = { directory: '/project' }
let clock = 1_795_000_000_000

interface Frame {
  readonly type: string
  readonly data: object
}

/** A frame as the servers send it: these were taken from a recording of build 0.0.0-next-16350. */
function frame(type: string, data: object): Frame {
  clock += 10
  return { id: `evt_${clock}`, created: clock, type, location, data: { sessionID, ...data } } as Frame
}

const tokens = { input: 120, output: 24, reasoning: 0, cache: { read: 0, write: 0 } }
const step = (id: string) => ({ assistantMessageID: id, agent: 'build', model: { id: 'm1', providerID: 'fake' } })
const text = (id: string, words: string): readonly Frame[] => [
  frame('session.text.started', { assistantMessageID: id, ordinal: 0 }),
  frame('session.text.delta', { assistantMessageID: id, ordinal: 0, delta: words.slice(0, 3) }),
  frame('session.text.delta', { assistantMessageID: id, ordinal: 0, delta: words.slice(3) }),
  frame('session.text.ended', { assistantMessageID: id, ordinal: 0, text: words }),
]
const stop = (id: string, finish = 'stop') =>
  frame('session.step.ended', { assistantMessageID: id, finish, cost: 0.5, tokens })
const ended = frame('session.execution.succeeded', {})

/** How preview builds call what 2.0 calls otherwise. */
const preview = {
  created: frame('session.created', {
    info: { id: sessionID, directory: '/project', title: 'T', time: { created: 1 } },
  }),
  prompted: (id: string, words: string, more: object = {}) => [
    frame('session.input.admitted', {
      inputID: id,
      input: { type: 'user', data: { text: words, ...more }, delivery: 'steer' },
    }),
    frame('session.execution.started', {}),
    frame('session.input.promoted', { inputID: id }),
  ],
  call: 'callID',
}
const stable = {
  created: frame('session.created', { location, title: 'T' }),
  prompted: (id: string, words: string, more: object = {}) => [
    frame('session.inbox.enqueued', {
      inboxID: id,
      item: { type: 'user', payload: { text: words, ...more }, delivery: 'steer' },
    }),
    frame('session.execution.started', {}),
    frame('session.inbox.delivered', { inboxID: id }),
  ],
  call: 'id',
}

async function play(frames: readonly Frame[], errors: ReplyError[] = []): Promise<readonly Reply[]> {
  const stream = frames.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')
  return await replay(stream, { onError: (error) => errors.push(error) })
}

describe.each([
  ['a preview build', preview],
  ['2.0', stable],
])('OpenCode 2, as %s names it', (_, { created, prompted, call }) => {
  const tool = (name: string, data: object) =>
    frame(`session.tool.${name}`, { assistantMessageID: 'msg_a', [call]: 'call_1', ...data })

  test('a prompt with its answer is one reply', async () => {
    const errors: ReplyError[] = []
    const frames = [created, ...prompted('msg_p', 'Go.'), frame('session.step.started', step('msg_a'))]
    const [reply, ...more] = await play([...frames, ...text('msg_a', 'Hello there.'), stop('msg_a'), ended], errors)
    expect([errors, more]).toEqual([[], []])
    expect(reply).toMatchObject({ sessionID, outcome: 'completed', prompt: { text: 'Go.' }, directory: '/project' })
    expect(textOf(reply ?? expect.fail())).toBe('Hello there.')
    expect(reply?.usage).toMatchObject({ input: 120, output: 24, cost: 0.5, steps: 1 })
    expect(reply?.model).toEqual({ providerID: 'fake', modelID: 'm1' })
  })

  test('a prompt that only names a sub-agent has its name', async () => {
    const frames = [created, ...prompted('msg_p', '', { agents: [{ name: 'general' }] })]
    const [reply] = await play([...frames, frame('session.step.started', step('msg_a')), stop('msg_a'), ended])
    expect(reply?.prompt?.text).toBe('@general')
  })

  test('a tool keeps the name that only its first event told, and its ask shows what it would run', async () => {
    const input = { command: 'touch x' }
    const source = { type: 'tool', messageID: 'msg_a', [call]: 'call_1' }
    const ask = { id: 'per_1', action: 'shell', resources: ['touch x'], save: ['touch *'], source }
    const [reply] = await play([
      created,
      ...prompted('msg_p', 'Go.'),
      frame('session.step.started', step('msg_a')),
      tool('input.started', { name: 'shell' }),
      tool('called', { input }),
      frame('permission.asked', ask),
      frame('permission.replied', { requestID: 'per_1', reply: 'once' }),
      tool('success', { content: [{ type: 'text', text: 'done' }], metadata: { exit: 1 } }),
      stop('msg_a', 'tool-calls'),
      frame('session.step.started', step('msg_b')),
      ...text('msg_b', 'Touched.'),
      stop('msg_b'),
      ended,
    ])
    expect(toolsOf(reply ?? expect.fail())).toMatchObject([
      { tool: 'shell', state: { status: 'completed', input, output: 'done', metadata: { exit: 1 } } },
    ])
    expect(reply?.asks).toMatchObject([{ status: 'answered', always: ['touch *'], call: { tool: 'shell', input } }])
    expect(reply?.usage.steps).toBe(2)
  })

  test('a rejection stops the run without an error', async () => {
    const [reply] = await play([
      created,
      ...prompted('msg_p', 'Go.'),
      frame('session.step.started', step('msg_a')),
      tool('input.started', { name: 'shell' }),
      tool('called', { input: { command: 'x' } }),
      frame('permission.asked', { id: 'per_1', action: 'shell', resources: ['x'] }),
      frame('permission.replied', { requestID: 'per_1', reply: 'reject' }),
      tool('failed', { error: { type: 'aborted', message: 'The user declined this tool call' } }),
      frame('session.step.failed', {
        assistantMessageID: 'msg_a',
        error: { type: 'aborted', message: 'Step interrupted' },
      }),
      frame('session.execution.interrupted', { reason: 'shutdown' }),
    ])
    expect(reply).toMatchObject({ outcome: 'stopped', asks: [{ status: 'rejected' }] })
  })

  test.each([
    ['shutdown', 'lost'],
    ['superseded', 'aborted'],
    ['inactivity', 'aborted'],
    ['user', 'aborted'],
  ])('an end by %s after a rejection with a reason, with which the run went on, is %s', async (reason, outcome) => {
    const replies = await play([
      created,
      ...prompted('msg_p', 'Go.'),
      frame('session.step.started', step('msg_a')),
      tool('input.started', { name: 'shell' }),
      tool('called', { input: { command: 'x' } }),
      frame('permission.asked', { id: 'per_1', action: 'shell', resources: ['x'] }),
      frame('permission.replied', { requestID: 'per_1', reply: 'reject' }),
      tool('failed', { error: { type: 'tool.execution', message: 'Unable to execute command' } }),
      stop('msg_a', 'tool-calls'),
      frame('session.step.started', step('msg_b')),
      frame('session.execution.interrupted', { reason }),
    ])
    expect(replies.map((reply) => reply.outcome)).toEqual([outcome])
  })

  test('an interrupt aborts, and an empty execution makes no reply', async () => {
    const interrupted = frame('session.execution.interrupted', { reason: 'user' })
    const frames = [created, ...prompted('msg_p', 'Go.'), frame('session.step.started', step('msg_a')), interrupted]
    const replies = await play([...frames, frame('session.execution.started', {}), ended])
    expect(replies.map(({ outcome }) => outcome)).toEqual(['aborted'])
  })

  test('a committed revert removes the named message and all after it', async () => {
    const turn = (prompt: string, answer: string) => [
      ...prompted(prompt, 'Go.'),
      frame('session.step.started', step(answer)),
      ...text(answer, 'Hello there.'),
      stop(answer),
      ended,
    ]
    const frames = [created, ...turn('msg_p', 'msg_a'), ...turn('msg_q', 'msg_b')]
    const replies = await play([...frames, frame('session.revert.committed', { to: 'msg_q' })])
    expect(replies.map(({ messages }) => messages.map(({ id }) => id))).toEqual([['msg_a'], []])
  })

  test('a step that is tried again keeps its time, and one that failed has a finish', async () => {
    const first = frame('session.step.started', step('msg_a')) as Frame & { readonly created: number }
    const [reply] = await play([
      created,
      ...prompted('msg_p', 'Go.'),
      first,
      frame('session.retry.scheduled', { assistantMessageID: 'msg_a', attempt: 2, at: clock + 2000 }),
      frame('session.step.started', step('msg_a')),
      frame('session.step.failed', { assistantMessageID: 'msg_a', error: { type: 'provider.auth', message: 'No.' } }),
      frame('session.execution.failed', { error: { type: 'provider.auth', message: 'No.' } }),
    ])
    expect(reply?.outcome).toBe('failed')
    expect(reply?.messages).toMatchObject([{ createdAt: first.created, finish: 'error', parentID: 'msg_p' }])
  })

  test('an execution that was lost with its server is over when the next prompt runs', async () => {
    const frames = [created, ...prompted('msg_p', 'Go.'), frame('session.step.started', step('msg_a'))]
    const connected = { type: 'server.connected', data: {} }
    const next = [...prompted('msg_q', 'Go on.'), frame('session.step.started', step('msg_b')), stop('msg_b'), ended]
    const replies = await play([...frames, connected, ...next])
    expect(replies.map(({ outcome }) => outcome)).toEqual(['lost', 'completed'])
  })
})

test('a call whose beginning was missed has no known input, so that a permission for it is not shown as empty', async () => {
  const [reply] = await play([
    preview.created,
    ...preview.prompted('msg_1', 'Go.'),
    frame('session.step.started', step('msg_2')),
    frame('session.tool.progress', { assistantMessageID: 'msg_2', callID: 'call_1', metadata: { output: 'x' } }),
    frame('permission.asked', {
      id: 'per_1',
      action: 'shell',
      resources: ['ls'],
      source: { type: 'tool', messageID: 'msg_2', callID: 'call_1' },
    }),
  ])
  expect(toolsOf(reply ?? expect.fail())).toMatchObject([{ state: { status: 'pending' } }])
  expect(reply?.asks).toMatchObject([{ type: 'permission', callID: 'call_1' }])
  expect(reply?.asks[0]).not.toHaveProperty('call')
})
