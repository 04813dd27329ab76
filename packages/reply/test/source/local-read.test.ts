import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { observerOf, type PostedPrompt, type Reply, ReplyError, textOf } from '../../src/index.ts'
import { connectSource, type LocalAgentOptions, type LocalHistory, type LocalRun } from '../../src/source.ts'
import { createScripted } from './local-agent.ts'

const place = { sessionID: 'ses_old', directory: '/project' }
const user = (text: string) => [{ type: 'text', text } as const]

/** An agent that knows the session `ses_old` of an earlier process, whose content is read by `read`. */
async function stage(
  read: (history: LocalHistory) => void | Promise<void>,
  more: Partial<LocalAgentOptions> = {},
  connection: { readonly isWatching?: boolean } = {},
) {
  const clock = createHandClock()
  let reads = 0
  const agent = createScripted({
    clock,
    find: async ({ sessionID }) => (sessionID === place.sessionID ? place : undefined),
    read: async (_, history) => {
      reads += 1
      await read(history)
    },
    ...more,
  })
  const client = connectSource(agent.source, { clock, random: () => 0 })
  const settled: Reply[] = []
  const observer = observerOf((observation) => {
    if (observation.type === 'replySettled') settled.push(observation.reply)
  })
  if (connection.isWatching) client.watch({}, { observe: () => [observer] })
  await client.ready
  const posted = (text: string, more: Partial<PostedPrompt> = {}): PostedPrompt => ({
    ...place,
    text,
    at: clock.now() - 60_000,
    messageID: 'msg_of_the_killed_process',
    ...more,
  })
  const newestText = async (): Promise<string | undefined> => {
    const reply = await client.reply(place.sessionID)
    return reply && textOf(reply)
  }
  return { agent, client, settled, posted, clock, newestText, reads: () => reads }
}

/** Two answered prompts. */
function answered(history: LocalHistory): void {
  const first = history.run({ parts: user('First.') })
  first.write({ type: 'text', delta: 'One' }, { type: 'text', delta: '.' })
  first.end({ type: 'completed' })
  const second = history.run({ parts: user('Second.'), messageID: 'own_id' })
  second.write({
    type: 'tool',
    callID: 'c',
    tool: 'bash',
    state: { status: 'completed', input: { command: 'ls' }, output: 'a' },
  })
  second.write({ type: 'text', delta: 'Two.' })
  second.end({ type: 'completed' })
}

test('a run that the agent stopped although the model would go on is not continued by the next prompt', async () => {
  const { client } = await stage((history) => {
    const first = history.run({ parts: user('First.') })
    first.write({ type: 'text', delta: 'One.' })
    first.end({ type: 'completed', finish: 'tool-calls' })
    const second = history.run({ parts: user('Second.') })
    second.write({ type: 'text', delta: 'Two.' })
    second.end({ type: 'completed' })
  })
  const reply = await client.reply(place.sessionID)
  expect([reply && textOf(reply), reply?.prompt?.text]).toEqual(['Two.', 'Second.'])
})

test('the newest prompt of a killed process is found by its text, with its answer', async () => {
  const { client, posted } = await stage(answered)
  const resumed = await client.resume(posted('Second.'))
  if (resumed.type !== 'found') throw new Error(resumed.type)
  const reply = await resumed.stream.result
  expect([textOf(reply), reply.outcome, reply.prompt?.text]).toEqual(['Two.', 'completed', 'Second.'])
  expect(reply.promptIDs).toEqual(['own_id'])
  await client.close()
})

test('an earlier prompt with the same text is not taken for the posted one', async () => {
  const { client, posted } = await stage(answered)
  expect((await client.resume(posted('First.'))).type).toBe('unknown')
  expect((await client.resume(posted('Never sent.'))).type).toBe('absent')
  // A command and a prompt without a text can't be recognized.
  expect((await client.resume(posted('', { text: undefined }))).type).toBe('unknown')
  await client.close()
})

test('a prompt with the same text that is older than the posted one was answered before', async () => {
  const { client, posted, clock } = await stage((history) => {
    history.run({ parts: user('Go on.'), at: clock.now() - 3_600_000 }).end({ type: 'completed' })
  })
  expect((await client.resume(posted('Go on.'))).type).toBe('absent')
  await client.close()
})

/** An agent without times, which was asked these prompts and answered each with its number. */
const prompts =
  (...texts: readonly string[]) =>
  (history: LocalHistory): void => {
    for (const [at, text] of texts.entries()) {
      const run = history.run({ parts: user(text) })
      run.write({ type: 'text', delta: `${at + 1}` })
      run.end({ type: 'completed' })
    }
  }

test.each([
  { history: ['yes'], before: 0, answer: '1' },
  { history: ['yes'], before: 1, answer: 'unknown' },
  { history: ['yes', 'yes', ' yes\n'], before: 2, answer: '3' },
  { history: ['yes', 'yes', 'yes'], before: 3, answer: 'unknown' },
  // Only the last three runs are kept, and all are counted.
  { history: ['yes', 'yes', 'a', 'b', 'yes', 'c', 'yes'], before: 3, answer: '7' },
  { history: ['yes', 'yes', 'a', 'b', 'yes', 'c', 'yes'], before: 4, answer: 'unknown' },
  { history: ['yes', 'a', 'b', 'c', 'd'], before: 1, answer: 'absent' },
  // Others were posted after it, for example because they steered its run.
  { history: ['yes', 'yes', 'a'], before: 1, answer: '2' },
  { history: ['yes', 'yes', 'yes'], before: 1, answer: '2' },
  { history: ['yes', 'a', 'b', 'c'], before: 0, answer: 'unknown' },
  // The agent dropped its beginning.
  { history: ['yes', 'a'], before: 2, answer: 'unknown' },
  { history: ['a'], before: 1, answer: 'unknown' },
  // Two prompts without an answer in between, repeated as one.
  { history: ['yesyes'], before: 1, answer: 'unknown' },
  // Not counted.
  { history: ['no', 'yes'], before: undefined, answer: '2' },
  { history: ['yes', 'yes'], before: undefined, answer: 'unknown' },
])('of $history, with $before before the post, "yes" is $answer', async ({ history, before, answer }) => {
  const { client, posted } = await stage(prompts(...history))
  const resumed = await client.resume(posted('yes', { sameTextBefore: before }))
  expect(resumed.type === 'found' ? textOf(await resumed.stream.result) : resumed.type).toBe(answer)
  await client.close()
})

test('a session that had messages and shows none can not tell whether it has the prompt', async () => {
  const { client, posted } = await stage(() => {})
  expect((await client.resume(posted('Go.', { after: 'msg_before' }))).type).toBe('unknown')
  expect((await client.resume(posted('Go.'))).type).toBe('absent')
  await client.close()
})

test('simultaneous calls look a session up once, and the next one does so again after an error', async () => {
  const looked: string[] = []
  const { agent, client } = await stage(answered, {
    find: async ({ sessionID }) => {
      looked.push(sessionID)
      await new Promise((resolve) => setImmediate(resolve))
      if (looked.length === 1) throw new ReplyError('unreachable', 'The agent did not answer.')
      return place
    },
  })
  const both = [agent.source.session(place), agent.source.children(place)]
  expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await Promise.all([agent.source.session(place), agent.source.children(place), agent.source.session(place)])
  expect(looked).toHaveLength(2)
  await client.close()
})

test('each post of the same text has counted those before it, also those of an earlier process', async () => {
  const { client } = await stage(prompts('yes', 'no', 'yes', 'yes'))
  const counts: (number | undefined)[] = []
  const onPosting = ({ sameTextBefore }: PostedPrompt): void => void counts.push(sameTextBefore)
  for (const text of ['yes', ' yes ', 'no', 'new']) await client.prompt({ ...place, text }, { onPosting }).result
  await client.prompt({ text: 'yes' }, { onPosting }).result
  expect(counts).toEqual([3, 4, 1, 0, 0])
  await client.close()
})

test('prompts that wait for their run are counted too', async () => {
  const runs: LocalRun[] = []
  const { client, agent } = await stage(prompts('yes'), {
    capabilities: () => ({ queuesPrompts: true, takesPromptsWhileBusy: true }),
    prompt: async (run) => void runs.push(run),
  })
  const counts: (number | undefined)[] = []
  const onPosting = ({ sameTextBefore }: PostedPrompt): void => void counts.push(sameTextBefore)
  for (const posted of [1, 2, 3]) {
    void client.prompt({ ...place, text: 'yes', delivery: 'queue' }, { onPosting })
    await expect.poll(() => runs.length).toBe(posted)
  }
  expect(counts).toEqual([1, 2, 3])
  agent.source.close()
  await client.close()
})

test('a prompt that waits is never taken for an earlier one with the same text', async () => {
  const runs: LocalRun[] = []
  const { client, agent, posted } = await stage(prompts('yes', 'yes'), {
    capabilities: () => ({ queuesPrompts: true }),
    prompt: async (run) => void runs.push(run),
  })
  void client.prompt({ ...place, text: 'Work.', delivery: 'queue' }).result
  await expect.poll(() => runs.length).toBe(1)
  const own: PostedPrompt[] = []
  const onPosting = (one: PostedPrompt): void => void own.push(one)
  void client.prompt({ ...place, text: 'yes', delivery: 'queue' }, { onPosting }).result
  await expect.poll(() => runs.length).toBe(2)
  const [waiting] = own
  if (!waiting) throw new Error('It was not posted.')
  const resumed = await client.resume(waiting)
  // An earlier process had posted the second one.
  expect((await client.resume(posted('yes', { sameTextBefore: 1 }))).type).toBe('unknown')
  for (const run of runs) {
    run.write({ type: 'text', delta: run.promptID })
    run.end({ type: 'completed' })
  }
  const reply = resumed.type === 'found' ? await resumed.stream.result : undefined
  expect(reply && textOf(reply)).toBe(waiting.messageID)
  agent.source.close()
  await client.close()
})

test('a prompt with a time is found by its text and its time', async () => {
  const { client, posted, clock } = await stage((history) => {
    for (const minutes of [9, 6, 3]) {
      const run = history.run({ parts: user('yes'), at: clock.now() - minutes * 60_000 })
      run.write({ type: 'text', delta: `${minutes} minutes ago` })
      run.end({ type: 'completed' })
    }
  })
  const at = clock.now() - 3 * 60_000
  const resumed = await client.resume(posted('yes', { at, sameTextBefore: 2 }))
  expect(resumed.type === 'found' && textOf(await resumed.stream.result)).toBe('3 minutes ago')
  expect((await client.resume(posted('yes', { at, sameTextBefore: 3 }))).type).toBe('unknown')
  expect((await client.resume(posted('yes', { at: clock.now() - 30_000, sameTextBefore: 3 }))).type).toBe('absent')
  await client.close()
})

test('a run that was cut off by the kill is aborted, with its partial text', async () => {
  const { client, posted } = await stage((history) => {
    const run = history.run({ parts: user('Go.') })
    run.write({ type: 'text', delta: 'It is cut h' })
    run.end({ type: 'aborted' })
  })
  const resumed = await client.resume(posted('Go.'))
  if (resumed.type !== 'found') throw new Error(resumed.type)
  const reply = await resumed.stream.result
  expect([textOf(reply), reply.outcome]).toEqual(['It is cut h', 'aborted'])
  await client.close()
})

test('a run that is still going is joined, and its end is seen', async () => {
  const running: LocalRun[] = []
  const { client, posted, agent } = await stage((history) => {
    history.run({ parts: user('Before.') })
    running.push(history.run({ parts: user('Go.') }))
    running[0]?.write({ type: 'text', delta: 'It goes ' })
  })
  const resumed = await client.resume(posted('Go.'))
  if (resumed.type !== 'found') throw new Error(resumed.type)
  expect(agent.run(place.sessionID)).toBe(running[0])
  running[0]?.write({ type: 'text', delta: 'on.' })
  running[0]?.end({ type: 'completed' })
  const reply = await resumed.stream.result
  expect([textOf(reply), reply.outcome]).toEqual(['It goes on.', 'completed'])
  expect(textOf(await client.prompt({ ...place, text: 'Hello.' }).result)).toBe('An answer.')
  await client.close()
})

test('the past of a session is not shown as news, and is read once', async () => {
  const { client, settled, reads, agent, newestText } = await stage(answered, {}, { isWatching: true })
  const reply = await client.prompt({ ...place, text: 'Hello.' }).result
  expect(textOf(reply)).toBe('An answer.')
  expect(settled.map((each) => each.prompt?.text)).toEqual(['Hello.'])
  expect(await newestText()).toBe('An answer.')
  const read = await agent.source.startReading().session(place, { messageIDs: [] })
  expect(read.messages.map(({ head }) => head.role)).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
    'user',
    'assistant',
  ])
  expect(read.working).toBeUndefined()
  expect(reads()).toBe(1)
  await client.close()
})

test('a session that can not be read rejects its readers only, and the next one reads again', async () => {
  let fails = true
  const { client, reads, newestText } = await stage((history) => {
    history.run({ parts: user('Cut.') }).write({ type: 'text', delta: 'Half' })
    if (fails) throw new ReplyError('unreachable', 'The agent did not answer.')
  })
  await expect(client.reply(place.sessionID)).rejects.toThrow('The agent did not answer.')
  expect(textOf(await client.prompt({ text: 'Hello.' }).result)).toBe('An answer.')
  fails = false
  expect(await newestText()).toBe('Half')
  expect(reads()).toBe(2)
  await client.close()
})

test('sub-agents of the past are read with their session', async () => {
  const { agent, client } = await stage((history) => {
    const run = history.run({ parts: user('Delegate.') })
    const metadata = { sessionId: 'ses_child' }
    const state = { status: 'completed', input: {}, output: 'Done.', metadata } as const
    const child = run.child({ sessionID: 'ses_child', title: 'Look around', text: 'Look.' })
    child.write({ type: 'text', delta: 'I looked.' })
    child.end({ type: 'completed' })
    run.write({ type: 'tool', callID: 'task', tool: 'task', state })
    run.end({ type: 'completed' })
  })
  const reply = await client.reply(place.sessionID)
  expect(reply?.children.map((child) => [child.reply.sessionID, textOf(child.reply)])).toEqual([
    ['ses_child', 'I looked.'],
  ])
  expect((await agent.source.children(place)).map(({ title }) => title)).toEqual(['Look around'])
  await client.close()
})

test('a session keeps its last runs, and says that the older ones are missing', async () => {
  const { agent, client } = await stage((history) => {
    for (const text of ['1', '2', '3', '4', '5']) {
      const run = history.run({ parts: user(text) })
      run.child({ sessionID: `ses_child_${text}`, text: 'Look.' }).end({ type: 'completed' })
      run.end({ type: 'completed' })
    }
  })
  const { messages, isWhole } = await agent.source.startReading().session(place, { messageIDs: [] })
  const texts = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))
  expect([texts, isWhole]).toEqual([['3', '4', '5'], false])
  await client.close()
})

test('a prompt that may be in a dropped run is not sent again', async () => {
  const { client, posted } = await stage((history) => {
    for (const text of ['1', '2', '3', '4']) history.run({ parts: user(text) }).end({ type: 'completed' })
  })
  expect((await client.resume(posted('1'))).type).toBe('unknown')
  expect((await client.resume(posted('4'))).type).toBe('found')
  await client.close()
})

test('lists the sessions of the agent with those of this process', async () => {
  const { client, agent } = await stage(answered, {
    sessions: async () => [{ sessionID: 'ses_desk', title: 'At the desk', updatedAt: 5 }],
    fork: async ({ sessionID, directory }) => ({ sessionID: `${sessionID}_copy`, directory }),
  })
  const { sessionID } = await client.prompt({ text: 'Hello.' }).result
  expect((await client.sessions()).map((each) => each.sessionID).toSorted()).toEqual([sessionID, 'ses_desk'].toSorted())
  const copyID = `${sessionID}_copy`
  expect((await client.fork(sessionID)).sessionID).toBe(copyID)
  expect(await client.reply(copyID).then((reply) => reply && textOf(reply))).toBe('An answer.')
  await client.prompt({ text: 'Hello again.', sessionID: copyID }).result
  const { promptIDs = [] } = (await client.reply(copyID)) ?? {}
  await client.fork(copyID, promptIDs[0])
  const cut = await agent.source
    .startReading()
    .session({ sessionID: `${copyID}_copy`, directory: undefined }, { messageIDs: [] })
  expect(cut.messages).toHaveLength(2)
  await client.close()
})

test('a copy up to a message that is no longer kept is read from the agent', async () => {
  const texts = ['1', '2', '3', '4', '5']
  const { agent, client } = await stage(() => {}, {
    read: async ({ sessionID }, history) => {
      const read = sessionID === place.sessionID ? texts : texts.slice(0, 1)
      for (const text of read) history.run({ parts: user(text), messageID: `msg_${text}` }).end({ type: 'completed' })
    },
    fork: async ({ directory }, messageID) => ({ sessionID: `copy_${messageID}`, directory }),
  })
  for (const [messageID, kept] of [
    ['msg_2', ['1']],
    ['msg_5', ['3', '4']],
  ] as const) {
    const { sessionID } = await client.fork(place.sessionID, messageID)
    const { messages } = await agent.source
      .startReading()
      .session({ sessionID, directory: undefined }, { messageIDs: [] })
    const found = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))
    expect(found).toEqual(kept)
  }
  await client.close()
})

test('sessions of this process are listed if the query matches, until the agent drops them', async () => {
  let listed = [{ sessionID: 'ses_1', directory: '/project', title: 'Of the agent', updatedAt: 5 }]
  const { client, agent, clock } = await stage(() => {}, {
    sessions: async ({ directory, everywhere }) => listed.filter((each) => everywhere || each.directory === directory),
  })
  const ids = async (query: Parameters<typeof agent.source.sessions>[0]) =>
    (await agent.source.sessions(query)).map(({ sessionID }) => sessionID)
  for (const directory of ['/project', '/project', '/other']) await agent.source.create({ directory })
  expect(await ids({ directory: '/project' })).toEqual(['ses_1', 'ses_2'])
  expect(await ids({ directory: '/other' })).toEqual(['ses_3'])
  expect(await ids({ everywhere: true })).toEqual(['ses_1', 'ses_2', 'ses_3'])
  expect(await ids({ directory: '/other', since: clock.now() + 1 })).toEqual([])
  expect((await client.sessions({ directory: '/project' }))[0]?.title).toBe('Of the agent')
  listed = []
  expect(await ids({ everywhere: true })).toEqual(['ses_2', 'ses_3'])
  await client.close()
})

test("reading a session's past does not make it newer", async () => {
  const { client, clock } = await stage(answered, { sessions: async () => [{ ...place, updatedAt: 1000 }] })
  await client.reply(place.sessionID)
  expect(clock.now()).toBeGreaterThan(1000)
  expect((await client.sessions({ directory: '/project' })).map(({ updatedAt }) => updatedAt)).toEqual([1000])
  await client.close()
})

test('without read, the content of sessions can not be read', async () => {
  const { client, agent } = await stage(answered, { read: undefined })
  await expect(agent.source.startReading().session(place, { messageIDs: [] })).rejects.toThrow(
    'does not show the content',
  )
  await expect(agent.source.message(place, 'msg')).rejects.toThrow('does not show the content')
  await client.close()
})

test('a text is replaced and taken back by its id', async () => {
  const { client } = await stage(answered, {
    prompt: async (run, { text }) => {
      run.write({ type: 'text', partID: 'a', delta: 'Draft' }, { type: 'text', partID: 'b', delta: 'Second' })
      run.write({ type: 'text', partID: 'a', delta: ' one.' }, { type: 'text', partID: 'a', replace: 'First.' })
      if (text === 'back')
        run.write({ type: 'text', partID: 'b', replace: '' }, { type: 'text', partID: 'c', replace: '' })
      run.write({ type: 'text', partID: 'a', delta: ' Still.' })
      run.end({ type: 'completed' })
    },
  })
  const texts = (reply: Reply) =>
    reply.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))
  expect(texts(await client.prompt({ text: 'Hello.' }).result)).toEqual(['First. Still.', 'Second'])
  expect(texts(await client.prompt({ text: 'back' }).result)).toEqual(['First. Still.'])
  await client.close()
})
