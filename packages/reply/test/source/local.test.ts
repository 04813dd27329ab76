import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { filesOf, ownTodosOf, type Reply, ReplyError, textOf, toolsOf } from '../../src/index.ts'
import { connectSource, type LocalOutput } from '../../src/source.ts'
import { createScripted } from './local-agent.ts'

async function stage(more: Parameters<typeof createScripted>[0] = {}) {
  const clock = createHandClock()
  const agent = createScripted({ clock, ...more })
  const errors: ReplyError[] = []
  const drive = connectSource(agent.source, { clock, random: () => 0, onError: (error) => errors.push(error) })
  await drive.ready
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return { agent, drive, errors, rest, advance: (ms: number) => clock.advance(ms, rest) }
}

test('a prompt of a local agent becomes a settled reply, with its texts sealed', async () => {
  const { drive, errors } = await stage()
  const reply = await drive.prompt({ text: 'Hello.' }).result
  expect([reply.outcome, reply.prompt?.text, textOf(reply), reply.promptIDs.length]).toEqual([
    'completed',
    'Hello.',
    'An answer.',
    1,
  ])
  expect(reply.messages.flatMap(({ parts }) => parts.map(({ type, status }) => [type, status]))).toEqual([
    ['reasoning', 'sealed'],
    ['text', 'sealed'],
  ])
  expect(errors).toEqual([])
  await drive.close()
})

test('a prompt behind a run of the session waits for its end', async () => {
  const { agent, drive, rest } = await stage()
  const { sessionID } = await drive.prompt({ text: 'Hello.' }).result
  drive.prompt({ text: 'endless', sessionID })
  await rest()
  const last = drive.prompt({ text: 'Hello again.', sessionID })
  await rest()
  expect(agent.heard).toEqual(['Hello.', 'endless'])
  agent.run(sessionID)?.end({ type: 'completed' })
  expect(textOf(await last.result)).toBe('An answer.')
  await drive.close()
})

test('an abort tells the agent that its ask will not be answered, then ends the run', async () => {
  const { agent, drive, rest } = await stage()
  const stream = drive.prompt({ text: 'permission' })
  await rest()
  expect(stream.reply?.phase).toBe('blocked')
  const reply = await stream.abort()
  expect(reply).toMatchObject({ outcome: 'aborted', asks: [{ status: 'rejected' }] })
  expect(agent.heard).toEqual(['permission', 'canceled'])
  await drive.close()
})

test('what is asked after an abort is canceled and never shown, also by sub-agents', async () => {
  const { agent, drive, rest } = await stage({ cancel: () => {} })
  const stream = drive.prompt({ text: 'endless' })
  await rest()
  const aborted = stream.abort()
  await rest()
  const run = agent.run(stream.reply?.sessionID ?? '')
  const child = run?.child({ background: true })
  if (run && child) for (const each of [run, child]) agent.act(each, 'permission')
  await rest()
  expect(agent.heard).toEqual(['endless', 'canceled', 'canceled'])
  expect(await agent.source.asks(undefined)).toEqual({ asks: [], isWhole: true })
  for (const each of [child, run]) each?.end({ type: 'aborted' })
  expect(await aborted).toMatchObject({ outcome: 'aborted', asks: [] })
  await drive.close()
})

test('an answer that fails after an abort leaves nothing to answer', async () => {
  const { agent, drive, rest } = await stage({ cancel: () => {} })
  const stream = drive.prompt({ text: 'endless' })
  await rest()
  const given: string[] = []
  let refuse = (): void => {}
  agent.run(stream.reply?.sessionID ?? '')?.ask({
    type: 'permission',
    requestID: 'per',
    permission: 'bash',
    patterns: [],
    always: [],
    title: 'ls',
    metadata: {},
    reply: async ({ type }) => {
      given.push(type)
      if (type === 'once')
        await new Promise<void>((_, reject) => {
          refuse = () => reject(new ReplyError('unreachable', 'It did not take the answer.'))
        })
    },
  })
  const address = { sessionID: stream.reply?.sessionID ?? '', requestID: 'per', directory: undefined }
  const answered = agent.source.answer({ type: 'permission', ...address }, 'once')
  const aborted = stream.abort()
  await rest()
  refuse()
  await expect(answered).rejects.toThrow('did not take')
  expect(given).toEqual(['once', 'canceled'])
  await expect(agent.source.answer({ type: 'permission', ...address }, 'once')).rejects.toThrow('no longer pending')
  agent.run(address.sessionID)?.end({ type: 'aborted' })
  expect((await aborted).outcome).toBe('aborted')
  await drive.close()
})

test('an abort before the first output settles as aborted', async () => {
  const { drive, rest } = await stage()
  const stream = drive.prompt({ text: 'wait' })
  await rest()
  expect((await stream.abort()).outcome).toBe('aborted')
  await drive.close()
})

test('an agent that does not stop leaves a reply that says so', async () => {
  const { drive, rest, advance } = await stage({ cancel: () => {} })
  const stream = drive.prompt({ text: 'endless' })
  await rest()
  const aborted = stream.abort()
  await advance(31_000)
  expect(await aborted).toMatchObject({ outcome: 'lost', lostReason: 'not-stopped' })
  await drive.close()
})

test('an agent that dies fails its runs with the reason, and is started again for the next prompt', async () => {
  let starts = 0
  const { agent, drive, errors, rest, advance } = await stage({
    start: async () => {
      starts += 1
    },
  })
  const stream = drive.prompt({ text: 'endless' })
  await rest()
  agent.fail(new ReplyError('unreachable', 'The agent exited with code 3.'))
  expect(await stream.result).toMatchObject({
    outcome: 'failed',
    error: { name: 'unreachable', message: 'The agent exited with code 3.' },
  })
  await rest()
  const next = drive.prompt({ text: 'Hello.' })
  await advance(1000)
  expect(errors.map(({ message }) => message)).toEqual(['The agent exited with code 3.'])
  expect([textOf(await next.result), starts]).toEqual(['An answer.', 2])
  await drive.close()
})

test('a prompt without a connection is refused, as its events would be lost', async () => {
  const { source, heard } = createScripted()
  const { sessionID } = await source.create({ directory: undefined })
  await expect(source.prompt({ sessionID, directory: undefined }, { text: 'Hello.' })).rejects.toMatchObject({
    type: 'refused',
  })
  expect(heard).toEqual([])
})

test('an agent that cannot be started fails each prompt at once, with the reason, and works as soon as it can be', async () => {
  const clock = createHandClock()
  let isThere = false
  const { source } = createScripted({
    clock,
    start: async () => {
      if (!isThere) throw new ReplyError('unreachable', 'There is no such command: install it.')
    },
  })
  // The clock stands still: no prompt waits for a back-off.
  const drive = connectSource(source, { clock })
  await expect(drive.ready).rejects.toThrow('no such command')
  const failed = { outcome: 'failed', error: { message: expect.stringContaining('no such command') } }
  for (let prompt = 0; prompt < 3; prompt++) expect(await drive.prompt({ text: 'Hello.' }).result).toMatchObject(failed)
  const together = [drive.prompt({ text: 'Hello.' }).result, drive.prompt({ text: 'Hello.' }).result]
  expect(await Promise.all(together)).toMatchObject([failed, failed])
  isThere = true
  expect(textOf(await drive.prompt({ text: 'Hello.' }).result)).toBe('An answer.')
  await drive.close()
})

test('a prompt that the agent refuses fails with its words, and the next one runs', async () => {
  const { drive } = await stage({
    prompt: async (run, { system }) => {
      if (system !== undefined) throw new ReplyError('unsupported', 'It takes no system prompt.')
      run.end({ type: 'completed' })
    },
  })
  const { sessionID, ...refused } = await drive.prompt({ text: 'Hello.', system: 'Be brief.' }).result
  expect(refused).toMatchObject({ outcome: 'failed', error: { message: 'It takes no system prompt.' } })
  expect((await drive.prompt({ text: 'Hello.', sessionID }).result).outcome).toBe('completed')
  await drive.close()
})

test('a note is refused', async () => {
  const { agent, drive } = await stage()
  const reply = await drive.prompt({ text: 'A note.', noReply: true }).result
  expect(reply).toMatchObject({ outcome: 'failed', error: { name: 'unsupported' } })
  expect(agent.heard).toEqual([])
  await drive.close()
})

test("a sub-agent's permission blocks the root, and its run is shown with the call that started it", async () => {
  const { drive, rest } = await stage()
  const stream = drive.prompt({ text: 'delegate' })
  await rest()
  const [ask] = stream.reply?.asks ?? []
  expect(ask).toMatchObject({ path: ['ses_1', 'ses_1_child'], call: { tool: 'bash', input: { command: 'ls' } } })
  if (ask) await drive.answer(ask, 'once')
  const reply = await stream.result
  expect([reply.outcome, reply.children[0]?.callID, reply.children[0]?.reply.outcome]).toEqual([
    'completed',
    'task',
    'completed',
  ])
  await drive.close()
})

test('an answer that the agent does not take can be given again', async () => {
  let tries = 0
  const { drive, rest } = await stage({
    prompt: async (run) =>
      run.ask({
        type: 'question',
        requestID: 'que_1',
        questions: [{ header: '', question: 'Why?', options: [], multiple: false, custom: true }],
        reply: () => {
          tries += 1
          if (tries === 1) throw new ReplyError('unreachable', 'It did not arrive.')
          setImmediate(() => run.end({ type: 'completed' }))
        },
      }),
  })
  const stream = drive.prompt({ text: 'Hello.' })
  await rest()
  const [ask] = stream.reply?.asks ?? []
  if (!ask) throw new Error('It does not ask.')
  await expect(drive.answer(ask, [['So.']])).rejects.toThrow('It did not arrive.')
  await drive.answer(ask, [['So.']])
  expect((await stream.result).asks[0]).toMatchObject({ status: 'answered', answers: [['So.']] })
  await drive.close()
})

const usage = (stepID: string | undefined, input: number): LocalOutput => ({
  type: 'usage',
  stepID,
  tokens: { input, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 },
  cost: 0.5,
})

test('an output of each kind reaches the reply', async () => {
  const { drive } = await stage({
    prompt: async (run) => {
      run.write(
        { type: 'context-limit', contextLimit: 1000 },
        { type: 'message', messageID: 'm1', agent: 'build', model: { providerID: 'p', modelID: 'm' } },
        { type: 'text', delta: 'Let me see.' },
        { type: 'tool', callID: 'c1', tool: 'read', state: { status: 'running', input: {} } },
        usage('1', 5),
        usage('1', 10),
        { type: 'text', delta: 'Two', messageID: 'm2' },
        { type: 'seal' },
        { type: 'text', delta: 'Three', messageID: 'm2' },
        { type: 'tool', callID: 'c1', tool: 'read', state: { status: 'completed', input: {}, output: 'ok' } },
        { type: 'file', mime: 'image/png', url: 'data:image/png;base64,AA==' },
        { type: 'todos', todos: [{ content: 'Rest', status: 'pending' }] },
        { type: 'title', title: 'A title' },
        { type: 'retry', attempt: 1, message: 'Overloaded' },
        { type: 'compaction', state: 'started', auto: true },
        { type: 'compaction', state: 'done', auto: true },
        usage('2', 20),
      )
      run.end({ type: 'completed', finish: 'length' })
    },
  })
  const reply = await drive.prompt({ text: 'Hello.' }).result
  expect(reply.messages.map(({ id, finish, parts }) => [id, finish, parts.map(({ type }) => type)])).toEqual([
    ['m1', 'tool-calls', ['text', 'tool', 'step-finish']],
    ['m2', 'tool-calls', ['text', 'text', 'file']],
    // The one after the compaction.
    [expect.any(String), 'length', ['step-finish']],
  ])
  expect(toolsOf(reply)).toMatchObject([{ state: { status: 'completed', output: 'ok' }, messageID: 'm1' }])
  expect(reply).toMatchObject({
    outcome: 'completed',
    agent: 'build',
    model: { modelID: 'm' },
    title: 'A title',
    todos: [{ content: 'Rest' }],
    retry: undefined,
    compaction: { state: 'done', auto: true },
    usage: { input: 30, steps: 2, cost: 1, contextTokens: 21, contextLimit: 1000 },
  })
  await drive.close()
})

test('files keep their ids when a text before them is taken back, and a call keeps the files of its last state', async () => {
  const files = [{ mime: 'text/plain', url: 'data:text/plain,abc', filename: 'a.txt' }]
  const call = { type: 'tool', callID: 'c', tool: 'draw' } as const
  const seen: unknown[] = []
  const { drive } = await stage({
    prompt: async (run) => {
      run.write(
        { type: 'text', delta: 'Wrong.', partID: 'one' },
        { ...call, state: { status: 'running', input: {} } },
        { ...call, state: { status: 'completed', input: {}, output: '' }, files },
        { type: 'file', mime: 'image/png', url: 'file:///a.png', size: 7 },
        { type: 'text', replace: '', partID: 'one' },
      )
      run.end({ type: 'completed' })
    },
  })
  const observe = () => [{ partRemoved: ({ reply }: { readonly reply: Reply }) => void seen.push(filesOf(reply)) }]
  const reply = await drive.prompt({ text: 'Hello.' }, { observe }).result
  expect(filesOf(reply)).toMatchObject([
    { url: 'data:text/plain,abc', filename: 'a.txt', size: 3 },
    { url: 'file:///a.png', size: 7 },
  ])
  expect(seen).toEqual([filesOf(reply)])
  expect(new Set(filesOf(reply).map(({ id }) => id)).size).toBe(2)
  await drive.close()
})

test('a run that only looks at a checklist did not write it', async () => {
  for (const isRead of [true, undefined] as const) {
    const { drive } = await stage({
      prompt: async (run) => {
        run.write({ type: 'todos', todos: [{ content: 'Rest', status: 'pending' }], isRead })
        run.end({ type: 'completed' })
      },
    })
    const reply = await drive.prompt({ text: 'What is left?' }).result
    expect(reply.todos).toMatchObject([{ content: 'Rest' }])
    expect(ownTodosOf(reply)).toHaveLength(isRead ? 0 : 1)
    await drive.close()
  }
})

test('a step is counted once, also if a later message tells of it again; without an id each is a step', async () => {
  const { drive } = await stage({
    prompt: async (run) => {
      run.write({ type: 'message', messageID: 'm1' }, usage('1', 5), usage(undefined, 100), usage(undefined, 1000))
      run.write({ type: 'message', messageID: 'm2' }, usage('1', 10), usage('2', 20))
      run.end({ type: 'completed' })
    },
  })
  const reply = await drive.prompt({ text: 'Hello.' }).result
  expect(reply.usage).toMatchObject({ input: 1130, steps: 4 })
  expect(reply.messages.map(({ parts }) => parts.length)).toEqual([3, 1])
  await drive.close()
})

test.each([
  [{ type: 'completed' }, 'completed'],
  [{ type: 'aborted' }, 'aborted'],
  [{ type: 'failed', error: { name: 'unauthorized', message: 'The key is wrong.', raw: undefined } }, 'failed'],
] as const)('a run that ends as %o after its last retry says so', async (ending, outcome) => {
  const { drive } = await stage({
    prompt: async (run) => {
      run.write({ type: 'retry', attempt: 10, message: 'Unauthorized' })
      run.end(ending)
    },
  })
  expect((await drive.prompt({ text: 'Hello.' }).result).outcome).toBe(outcome)
  await drive.close()
})

test('an agent that ignores an abort is ended after 10 s, and its session takes prompts again', async () => {
  const killed: string[] = []
  const { drive, rest, advance } = await stage({
    cancel: () => {},
    kill: ({ sessionID }) => killed.push(sessionID),
  })
  const stream = drive.prompt({ text: 'endless' })
  await rest()
  const { sessionID } = stream.reply ?? { sessionID: '' }
  void stream.abort().catch(() => {})
  await advance(9000)
  expect(killed).toEqual([])
  await advance(1100)
  expect(killed).toEqual([sessionID])
  expect(textOf(await drive.prompt({ text: 'Hello.', sessionID }).result)).toBe('An answer.')
  await drive.close()
})

test('an abort that is heeded ends nothing else', async () => {
  const killed: string[] = []
  const { drive, rest, advance } = await stage({ kill: ({ sessionID }) => killed.push(sessionID) })
  const stream = drive.prompt({ text: 'endless' })
  await rest()
  expect((await stream.abort()).outcome).toBe('aborted')
  await advance(20_000)
  expect(killed).toEqual([])
  await drive.close()
})

test('an answer goes to the ask of its own session alone', async () => {
  const { agent, drive, rest } = await stage()
  const stream = drive.prompt({ text: 'permission' })
  await rest()
  const [ask] = stream.reply?.asks ?? []
  const other = {
    type: 'permission',
    requestID: ask?.requestID ?? '',
    sessionID: 'ses_other',
    directory: undefined,
  } as const
  await expect(agent.source.answer(other, 'once')).rejects.toMatchObject({ type: 'gone' })
  await drive.close()
})

test('the words of retries and failures are redacted, and those of the answer are not', async () => {
  const { agent, drive, rest } = await stage({ redact: (text) => text.replaceAll('sesame', '[redacted]') })
  const reasons: (string | undefined)[] = []
  const stream = drive.prompt(
    { text: 'wait' },
    { observe: () => [{ sessionRetried: ({ message }) => reasons.push(message) }] },
  )
  await rest()
  const [sessionID = ''] = [...(await agent.source.working(undefined)).keys()]
  const run = agent.run(sessionID)
  run?.write({ type: 'text', delta: 'It is sesame.' }, { type: 'retry', message: 'No sesame.' })
  run?.end({ type: 'failed', error: { name: 'E', message: 'Still no sesame.', raw: { why: ['sesame'] } } })
  const reply = await stream.result
  expect([textOf(reply), reasons]).toEqual(['It is sesame.', ['No [redacted].']])
  expect(reply.error).toMatchObject({ message: 'Still no [redacted].', raw: { why: ['[redacted]'] } })
  await drive.close()
})

test('a run whose connection broke ends as lost with what it wrote, and the others and the session go on', async () => {
  const { agent, drive, rest } = await stage()
  const cut = drive.prompt({ text: 'wait' })
  const other = drive.prompt({ text: 'endless' })
  await rest()
  const { sessionID = '' } = cut.reply ?? {}
  const run = agent.run(sessionID)
  run?.write({ type: 'text', delta: 'Half an' })
  const child = run?.child({ title: 'Look' })
  child?.write({ type: 'text', delta: 'Looking' })
  run?.end({ type: 'lost', error: { name: 'unreachable', message: 'The response broke.', raw: undefined } })
  const reply = await cut.result
  expect([reply.outcome, reply.lostReason, textOf(reply)]).toEqual(['lost', 'end-not-seen', 'Half an'])
  expect(reply.error?.message).toBe('The response broke.')
  expect(reply.children[0]?.reply).toMatchObject({ outcome: 'lost', phase: 'settled' })
  expect(other.reply).toMatchObject({ phase: 'working', connection: 'live' })
  expect((await drive.prompt({ text: 'Hello.', sessionID }).result).outcome).toBe('completed')
  await drive.close()
})
