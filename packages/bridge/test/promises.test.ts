import type { LocalRun } from '@reply/core/source'
import { until } from '@reply/testing'
import { afterEach, expect, test } from 'vitest'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

const echo = (run: LocalRun, text: string): void => answer(run, `You said: ${text}.`)

test('a command is a whole word in any case, and other words with a slash are prompts', async () => {
  open = await startHandDriven(echo)
  const { telegram, heard, said, passes } = open
  telegram.say(1, '/STATUS')
  await passes(() => said(1).length === 1)
  expect(said(1)).toEqual(['Nothing is running here.'])
  telegram.say(1, '/Stop@fake_bot')
  await passes(() => said(1).length === 2)
  for (const text of ['/statusx', '/status-of all', 'say /status']) {
    telegram.say(1, text)
    await passes(() => said(1).includes(`You said: ${text}.`))
  }
  expect(heard).toEqual(['/statusx', '/status-of all', 'say /status'])
})

test('typing shows before the message is stored', async () => {
  const order: string[] = []
  open = await startHandDriven(echo, {
    storeOf: (store) => ({
      ...store,
      commit: async (writes, lease) => {
        // It would wait for ever if the store came first.
        if (writes.some((write) => write.type === 'enqueue' && write.queue.startsWith('inbox/'))) {
          await until(() => open.telegram.typing(1))
          order.push('stored')
        }
        return await store.commit(writes, lease)
      },
    }),
  })
  open.telegram.say(1, 'now')
  await open.passes(() => open.said(1).includes('You said: now.'))
  expect(order).toEqual(['stored'])
  expect(open.chats.errors).toEqual([])
})

const colour = { header: 'Colour', question: 'Which colour?', options: [], multiple: false, custom: true }

test("a run's own time-out rests while a person is asked, and only then", async () => {
  open = await startHandDriven(
    (run, text) => {
      if (text !== 'ask') return run.write({ type: 'text', delta: 'One moment.' })
      run.ask({ type: 'question', requestID: 'que_1', questions: [colour], reply: () => answer(run, 'As you like.') })
    },
    { router: { timeoutMs: 5000, askTimeoutMs: 3_600_000 } },
  )
  const { telegram, clock, said, passes } = open
  telegram.say(1, 'ask')
  telegram.say(2, 'hang')
  await passes(() => said(1).some((text) => text.includes('Which colour?')))
  const asked = clock.now()
  await passes(() => clock.now() - asked > 60_000)
  telegram.say(2, '/status')
  await passes(() => said(2).some((text) => text.includes('Reason: Timed out')))
  telegram.say(1, '/status')
  await passes(() => said(1).some((text) => text.startsWith('⏳ Running')))
  telegram.say(1, 'Blue')
  await passes(() => said(1).includes('As you like.'))
  expect(said(2).at(-1)).toContain('Reason: Timed out')
  expect(said(1)).toContain('As you like.')
})

test('an ask is called to mind at half of its time, and rejected at the end of it', async () => {
  open = await startHandDriven(
    (run) => {
      const end = (): void => answer(run, 'Then I go on.')
      run.ask({ type: 'question', requestID: 'que_1', questions: [colour], reply: end })
    },
    // The run's own time is another.
    { router: { timeoutMs: 5000, askTimeoutMs: 90_000 } },
  )
  const { telegram, clock, said, passes } = open
  telegram.say(1, 'ask')
  const after = async (words: string): Promise<number> => {
    await passes(() => said(1).some((text) => text.includes(words)))
    return clock.now()
  }
  const asked = await after('Which colour?')
  const reminded = await after('⏳ The request above is still waiting for an answer: 45s left.')
  const rejected = await after('No answer within 1m 30s, so the request was rejected.')
  // Posting takes a little of the time.
  expect(Math.abs(reminded - asked - 45_000)).toBeLessThan(2000)
  expect(Math.abs(rejected - asked - 90_000)).toBeLessThan(2000)
  expect(said(1).filter((text) => text.includes('still waiting'))).toHaveLength(1)
  await after('Then I go on.')
  const at = (words: string) => said(1).findIndex((text) => text.includes(words))
  expect(at('No answer within')).toBeLessThan(at('Then I go on.'))
})

test('an ask that the platform refused is not said to be above when it is called to mind', async () => {
  open = await startHandDriven(
    (run) => {
      run.ask({ type: 'question', requestID: 'que_1', questions: [colour], reply: () => answer(run, 'As you like.') })
    },
    { router: { askTimeoutMs: 90_000 } },
  )
  const { telegram, said, passes } = open
  telegram.inject({ type: 'status', code: 400, method: /sendRichMessage|sendMessage/, chatId: 1 })
  telegram.say(1, 'ask')
  await passes(() => said(1).some((text) => text.includes('still waiting')))
  expect(said(1).filter((text) => text.includes('still waiting'))).toEqual([
    '⏳ A request that could not be shown here is still waiting for an answer: 45s left.',
  ])
})

test('an ask that is answered in time is not called to mind', async () => {
  open = await startHandDriven(
    (run) => {
      const end = (): void => answer(run, 'As you like.')
      run.ask({ type: 'question', requestID: 'que_1', questions: [colour], reply: end })
    },
    { router: { askTimeoutMs: 20_000 } },
  )
  const { telegram, clock, said, passes } = open
  telegram.say(1, 'ask')
  await passes(() => said(1).some((text) => text.includes('Which colour?')))
  telegram.say(1, 'Blue')
  await passes(() => said(1).includes('As you like.'))
  const answered = clock.now()
  await passes(() => clock.now() - answered > 30_000)
  expect(said(1).join()).not.toMatch(/still waits|No answer within/)
})

test.each([true, false])(
  'typing stays while a tool runs, and its messages come only with progress: %s',
  async (enabled) => {
    let working: LocalRun | undefined
    const act = (run: LocalRun): void => {
      working = run
      const state = { status: 'running', input: { command: 'sleep 99' } } as const
      run.write({ type: 'text', delta: 'I look.' }, { type: 'tool', callID: 'one', tool: 'bash', state })
    }
    open = await startHandDriven(act, { router: { progress: { enabled, heartbeatMs: 10_000 } } })
    const { telegram, clock, said, passes } = open
    telegram.say(1, 'look')
    await passes(() => telegram.typing(1))
    const began = clock.now()
    const seen = new Set<string>()
    await passes(() => {
      for (const text of said(1)) seen.add(text)
      return clock.now() - began > 60_000
    })
    const typings = telegram.calls.flatMap(({ method, at }) => (method === 'sendChatAction' ? [at] : []))
    const gaps = [...typings, clock.now()].map((at, index, all) => at - (all[index - 1] ?? at))
    expect(Math.max(...gaps)).toBeLessThan(10_000)
    expect([...seen].some((text) => text.includes('sleep 99'))).toBe(enabled)
    expect([...seen].every((text) => text === 'I look.')).toBe(!enabled)
    if (working) answer(working, ' It is done.')
    await passes(() => said(1).join().includes('It is done.'))
    expect(said(1).join()).toContain('It is done.')
  },
)
