import { createFastClock } from '@reply/testing/internal'
import { describe, expect, test, vi } from 'vitest'
import { createStage, endOf, peer, serveAgent } from './stage.ts'

/** A stage with the peer's client before it, over HTTP. */
async function open(options: Parameters<typeof createStage>[0] = {}) {
  const stage = createStage(options)
  const url = await serveAgent(stage.handle)
  return { ...stage, url, page: peer(url) }
}

/** A page that shows two asks at once. */
async function openWithTwoAsks() {
  const stage = await open()
  await stage.page.say('run git status & git log')
  await vi.waitFor(async () => expect((await stage.client.reply('ses_1'))?.asks).toHaveLength(2))
  const page = peer(stage.url)
  await page.run()
  return { ...stage, page }
}

test('a prompt is answered, and the next one too', async () => {
  const { page, heard } = await open()
  expect(endOf(await page.say('Hi'))).toBe('success')
  expect(endOf(await page.say('Ho'))).toBe('success')
  expect(page.texts()).toEqual(['You said: Hi', 'You said: Ho'])
  expect(heard.map(({ text }) => text)).toEqual(['Hi', 'Ho'])
})

test('a new thread gets a session, which its next prompts go on in', async () => {
  const { url, created, runs } = await open()
  const page = peer(url, 'new')
  await page.say('Hi')
  await page.say('Ho')
  expect(created.get('new')).toBe('ses_2')
  expect(runs.map(({ sessionID }) => sessionID)).toEqual(['ses_2', 'ses_2'])
})

describe('a permission', () => {
  test.each([
    ['once', 'once', 'success', 'git status: once'],
    ['always', 'always', 'success', 'git status: always'],
    ['reject', 'reject', 'success', 'git status: rejected'],
    ['cancelled', 'cancel', 'success', 'git status: rejected'],
  ])('is answered with %s', async (_, payload, end, heard) => {
    const { page, answers } = await open()
    expect(endOf(await page.say('run git status'))).toBe('interrupt')
    expect(page.agent.pendingInterrupts).toMatchObject([{ reason: 'tool_call', toolCallId: expect.any(String) }])
    expect(endOf(await page.run({ 'git status': payload }))).toBe(end)
    expect(answers).toEqual([heard])
    expect(page.agent.pendingInterrupts).toEqual([])
    expect(page.texts()).toContain('Done.')
    expect(page.results()).toHaveLength(1)
  })

  test('is rejected with a reason for the agent', async () => {
    const { page, answers } = await open()
    await page.say('run git status')
    const [interrupt] = page.agent.pendingInterrupts
    const resume = [
      {
        interruptId: interrupt?.id ?? '',
        status: 'resolved' as const,
        payload: 'reject',
        metadata: { reason: 'Use ls.' },
      },
    ]
    await page.agent.runAgent({ resume })
    expect(answers).toEqual(['git status: rejected Use ls.'])
  })
})

test('questions are answered with labels of options and free text', async () => {
  const { page, answers } = await open()
  expect(endOf(await page.say('ask'))).toBe('interrupt')
  expect(page.agent.pendingInterrupts).toMatchObject([
    { reason: 'input_required', message: expect.stringContaining('- Red') },
  ])
  expect(endOf(await page.run({ color: [['Blue'], ['S', 'other']] }))).toBe('success')
  expect(answers).toEqual(['[["Blue"],["S","other"]]'])
})

test('an answer that does not fit says what fits, and the ask goes on waiting', async () => {
  const { page, answers } = await open()
  await page.say('ask')
  await expect(page.run({ color: [['Green'], ['S']] })).rejects.toThrow(/"Green" is not an option of "Color"/)
  await expect(page.run({ color: 'Blue' })).rejects.toThrow('HTTP 400')
  expect(answers).toEqual([])
  expect(endOf(await page.run({ color: [['Red'], ['S']] }))).toBe('success')
})

describe('several interrupts at once', () => {
  test('are answered together', async () => {
    const { page, answers } = await openWithTwoAsks()
    expect(page.agent.pendingInterrupts).toHaveLength(2)
    expect(endOf(await page.run({ 'git status': 'once', 'git log': 'reject' }))).toBe('success')
    expect(answers).toEqual(['git status: once', 'git log: rejected'])
    expect(page.texts()).toContain('Done.')
  })

  test('have to be answered together by the peer, before it sends anything', async () => {
    const { page, answers } = await openWithTwoAsks()
    await expect(page.run({ 'git status': 'once' })).rejects.toThrow('not addressed by resume')
    expect(answers).toEqual([])
  })

  test('that are answered in part are answered so far, and the rest is asked again', async () => {
    const { page, answers } = await openWithTwoAsks()
    // The peer refuses to send a part, other clients don't.
    page.agent.pendingInterrupts = page.agent.pendingInterrupts.filter(({ message }) => message?.includes('status'))
    expect(endOf(await page.run({ 'git status': 'once' }))).toBe('interrupt')
    expect(answers).toEqual(['git status: once'])
    expect(page.agent.pendingInterrupts).toMatchObject([{ message: expect.stringContaining('git log') }])
    expect(endOf(await page.run({ 'git log': 'once' }))).toBe('success')
  })
})

describe('an answer that is too late', () => {
  test('is told, and the run goes on with what was answered elsewhere', async () => {
    const { page, answers, client } = await open()
    await page.say('run git status')
    const reply = await client.reply('ses_1')
    const [ask] = reply?.asks ?? []
    if (ask) await client.answer(ask, 'once')
    const events = await page.run({ 'git status': 'reject' })
    expect(events).toContainEqual(
      expect.objectContaining({
        name: 'reply.unanswered',
        value: expect.objectContaining({ why: expect.stringMatching(/closed|unknown/) }),
      }),
    )
    expect(endOf(events)).toBe('success')
    expect(answers).toEqual(['git status: once'])
    expect(page.agent.pendingInterrupts).toEqual([])
    expect(page.texts()).toContain('Done.')
  })

  test('never allows another command than the one that was shown', async () => {
    const { page, answers, run } = await open({ clock: createFastClock(20) })
    await page.say('run git status')
    const tool = { type: 'tool', callID: 'call_1', tool: 'bash' } as const
    run().write({ ...tool, state: { status: 'running', input: { command: 'rm -rf /' } } })
    const events = await page.run({ 'git status': 'once' })
    expect(answers).toEqual([])
    expect(events).toContainEqual(
      expect.objectContaining({ name: 'reply.unanswered', value: expect.objectContaining({ why: 'changed' }) }),
    )
    // Which call it is about is no longer certain, so it can't be allowed.
    expect(page.agent.pendingInterrupts).toMatchObject([{ responseSchema: { enum: ['reject'] } }])
  })
})

test('a failed run is an error with its reason', async () => {
  const { page } = await open()
  const events = await page.say('fail')
  expect(endOf(events)).toBe('failed')
  expect(events.at(-1)).toMatchObject({ message: 'Overloaded' })
})

describe('a client that disconnects', () => {
  test('does not stop the run, and its next run begins with a snapshot of what it missed', async () => {
    const { page, run, client } = await open()
    const first = page.say('endless').catch(() => {})
    await vi.waitFor(() => expect(page.texts()).toEqual(['On and on.']))
    page.agent.abortRun()
    await first
    run().write({ type: 'text', delta: ' To the end.', partID: 'endless' })
    run().end({ type: 'completed' })
    await vi.waitFor(async () => expect((await client.reply('ses_1'))?.outcome).toBe('completed'))
    const events = await page.say('Hi')
    expect(events.slice(0, 3).map(({ type }) => type)).toContain('MESSAGES_SNAPSHOT')
    expect(page.agent.messages.map(({ content }) => content)).toEqual([
      'endless',
      'On and on. To the end.',
      'Hi',
      'You said: Hi',
    ])
  })

  test('sees a run that goes on by a run without a new message', async () => {
    const { page, run, url } = await open()
    const first = page.say('endless').catch(() => {})
    await vi.waitFor(() => expect(page.texts()).toEqual(['On and on.']))
    const reloaded = peer(url)
    const second = reloaded.run()
    await vi.waitFor(() => expect(reloaded.texts()).toEqual(['On and on.']))
    run().write({ type: 'text', delta: ' Both.', partID: 'endless' })
    run().end({ type: 'completed' })
    await Promise.all([first, second])
    expect(reloaded.agent.messages).toMatchObject([
      { role: 'user', content: 'endless' },
      { role: 'assistant', content: 'On and on. Both.' },
    ])
    expect(page.texts()).toEqual(reloaded.texts())
  })
})

test('a message that is sent again while it runs, because the page was loaded again, is shown and not repeated', async () => {
  const { page, run, url, heard } = await open()
  const first = page.say('endless').catch(() => {})
  await vi.waitFor(() => expect(page.texts()).toEqual(['On and on.']))
  page.agent.abortRun()
  await first
  const reloaded = peer(url, 'mine', [{ id: 'u', role: 'user', content: 'endless' }])
  const second = reloaded.run()
  await vi.waitFor(() => expect(reloaded.texts()).toEqual(['On and on.']))
  run().end({ type: 'completed' })
  await second
  expect(heard).toHaveLength(1)
  expect(reloaded.agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
})

test('DELETE stops the run, and its stream ends as cancelled', async () => {
  const { page, url } = await open()
  const first = page.say('endless')
  await vi.waitFor(() => expect(page.texts()).toEqual(['On and on.']))
  const response = await fetch(`${url}?threadId=mine`, { method: 'DELETE' })
  expect(response.status).toBe(204)
  expect(endOf(await first)).toBe('cancelled')
})

test('a page on which no one may answer shows the ask, and goes on when it was answered elsewhere', async () => {
  const { page, client } = await open({ mayAnswer: undefined })
  const first = page.say('run git status')
  await vi.waitFor(() =>
    expect(page.agent.messages).toContainEqual(expect.objectContaining({ activityType: 'reply.ask' })),
  )
  const [ask] = (await client.reply('ses_1'))?.asks ?? []
  if (ask) await client.answer(ask, 'once')
  expect(endOf(await first)).toBe('success')
  expect(page.texts()).toContain('Done.')
})

test('text that is taken back is gone from the page', async () => {
  const { page, run } = await open()
  const first = page.say('endless')
  await vi.waitFor(() => expect(page.texts()).toEqual(['On and on.']))
  run().write({ type: 'text', replace: 'Something else.', partID: 'endless' })
  run().end({ type: 'completed' })
  await first
  expect(page.texts()).toEqual(['Something else.'])
})

test('a message that comes while the agent works is answered after that, if the agent takes one prompt at a time', async () => {
  const { page, url, heard, run, client } = await open()
  const first = page.say('endless')
  await vi.waitFor(() => expect(page.texts()).toEqual(['On and on.']))
  const prompted = vi.spyOn(client, 'prompt')
  const other = peer(url)
  const second = other.say('Also this')
  await vi.waitFor(() => expect(prompted).toHaveBeenCalled())
  expect(heard).toHaveLength(1)
  run().end({ type: 'completed' })
  await Promise.all([first, second])
  expect(heard.map(({ text }) => text)).toEqual(['endless', 'Also this'])
  expect(other.texts().join()).toContain('You said: Also this')
})
