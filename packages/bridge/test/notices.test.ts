import type { LocalRun } from '@reply/core/source'
import { PortError } from '@reply/sink/channel'
import { createHandClock } from '@reply/testing'
import { afterEach, expect, test } from 'vitest'
import type { BridgeEvent } from '../src/events/event.ts'
import { type Store, StoreError, type Write } from '../src/store/store.ts'
import type { StartChats } from './chats.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'
import { createPhone, type Phone } from './phone.ts'
import { type Job, survivingAgent } from './surviving-agent.ts'

let open: HandDriven
let events: BridgeEvent[]
let runs: Map<string, LocalRun>
afterEach(async () => await open.chats.close())

/** Ann may do all and has a phone, Bob may prompt. Prompts that begin with "hold" end when the test says so. */
async function opened(
  phone: Phone,
  entry: object = {},
  notify: object = { notify: ['phone'] },
  changed: Parameters<typeof startHandDriven>[1] = {},
) {
  events = []
  runs = new Map()
  const options = {
    clock: createHandClock(),
    groups: [-1_001_000_001_234],
    more: { phone: { entry: { type: 'phone', ...entry }, channel: phone.channel } },
    people: {
      ann: { ids: ['telegram:1'], may: ['prompt', 'approve', 'admin'], ...notify },
      bob: { ids: ['telegram:2'], may: ['prompt'] },
    },
    observers: [(event: BridgeEvent) => void events.push(event)],
    ...changed,
  }
  open = await startHandDriven((run, text) => {
    if (text.startsWith('hold')) return void runs.set(text, run)
    answer(run, `You said: ${text}.`)
  }, options)
  return { ...open, restart: async (more: StartChats = {}) => await open.chats.start({ ...options, ...more }) }
}

/** Lets the time pass. */
async function wait(ms: number): Promise<void> {
  let isOver = false
  open.clock.after(ms, () => {
    isOver = true
  })
  await open.passes(() => isOver)
}

/** What became of the notices. */
const results = (): readonly object[] =>
  events.flatMap((event) => {
    if (event.type !== 'notice') return []
    const { kind, to, result, doubtful } = event
    return [{ kind, to, result, doubtful }]
  })
const sent = { kind: 'final', to: 'phone', result: 'sent', doubtful: 0 }

/** Starts a run that the agent works on for a minute and a half. */
async function longRun({ telegram, passes }: HandDriven, text = 'hold', chat = 1): Promise<LocalRun> {
  telegram.say(chat, text)
  await passes(() => runs.has(text))
  await wait(90_000)
  const run = runs.get(text)
  if (!run) throw new Error('It does not run.')
  return run
}

test('a run that ends while its author is away rings once, with outcome, time and id and no text', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  answer(await longRun(stage), 'The secret plan.')
  await stage.passes(() => results().length > 0)
  expect(results()).toEqual([sent])
  expect(phone.rang).toEqual([
    {
      id: expect.stringMatching(/^[\w-]{1,64}$/),
      link: 'https://t.me/fake_bot',
      kind: 'final',
      title: 'Done',
      text: expect.stringMatching(/^1m 3\ds · \w+$/),
    },
  ])
  expect(JSON.stringify(phone.rang)).not.toMatch(/plan|hold/)
})

test('a person who just wrote is not rung', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  const run = await longRun(stage)
  stage.telegram.say(1, '/status')
  await stage.passes(() => stage.said(1).some((text) => text.startsWith('⏳')))
  answer(run, 'Done.')
  await stage.passes(() => stage.said(1).some((text) => text.includes('Done.')))
  await wait(60_000)
  expect(phone.calls).toBe(0)
})

test('a person who does not have the channel, and a person of another run, are not rung', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  answer(await longRun(stage, 'hold of Bob', 2), 'Done.')
  await stage.passes(() => stage.said(2).some((text) => text.includes('Done.')))
  await wait(60_000)
  expect(phone.calls).toBe(0)
})

test('a summary has the beginning of the answer', async () => {
  const phone = createPhone()
  const stage = await opened(phone, { content: 'summary' })
  answer(await longRun(stage), `The\nplan ${'x'.repeat(400)}`)
  await stage.passes(() => phone.rang.length > 0)
  const [, quote = ''] = phone.rang[0]?.text.split('\n') ?? []
  expect(quote).toMatch(/^The plan x+…$/)
  expect(quote).toHaveLength(300)
})

test('a failed run rings as that', async () => {
  const phone = createPhone()
  const stage = await opened(phone, { on: ['failure'] })
  const run = await longRun(stage)
  run.end({ type: 'failed', error: { name: 'Out', message: 'No more money.', raw: undefined } })
  await stage.passes(() => results().length > 0)
  expect(phone.rang[0]).toMatchObject({ kind: 'failure', title: 'Failed' })
  expect(JSON.stringify(phone.rang)).not.toMatch(/money/)
  answer(await longRun(stage, 'hold again'), 'Done.')
  await stage.passes(() => stage.said(1).some((text) => text.includes('Done.')))
  await wait(60_000)
  expect(phone.calls).toBe(1)
})

/** Makes the run ask for a permission. Returns what it was answered. */
function askFor(run: LocalRun): unknown[] {
  const answers: unknown[] = []
  const permission = { permission: 'bash', patterns: ['rm a'], always: [], title: 'rm a', metadata: {} }
  run.write({ type: 'tool', callID: 'call_1', tool: 'bash', state: { status: 'running', input: { command: 'rm a' } } })
  const reply = (given: unknown): void => void answers.push(given)
  run.ask({ type: 'permission', requestID: 'per_1', callID: 'call_1', ...permission, reply })
  return answers
}

test('a request that waits rings once, without its text and without an action', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  stage.telegram.say(1, 'hold')
  await stage.passes(() => runs.has('hold'))
  const run = runs.get('hold')
  if (run) askFor(run)
  await wait(59_000)
  expect(phone.calls).toBe(0)
  await stage.passes(() => phone.calls > 0)
  expect(phone.rang[0]).toMatchObject({ kind: 'ask', title: 'A request waits for you' })
  expect(Object.keys(phone.rang[0] ?? {}).toSorted()).toEqual(['id', 'kind', 'link', 'text', 'title'])
  expect(JSON.stringify(phone.rang)).not.toMatch(/rm a/)
  await wait(100_000)
  expect(phone.calls).toBe(1)
})

test.each([
  ['quotes a request of her own', 1, 'Ann', /^\w+\nrm a$/],
  ['does not quote a request of Bob, whose chat she may not see', 2, 'Bob', /^\w+$/],
])('a summary for Ann %s', async (_, id, name, said) => {
  const phone = createPhone()
  const stage = await opened(phone, { content: 'summary' })
  stage.telegram.say(-1_001_000_001_234, '@fake_bot hold', { from: { id, name } })
  await stage.passes(() => runs.has('hold'))
  const run = runs.get('hold')
  if (run) askFor(run)
  await stage.passes(() => phone.calls > 0)
  expect(phone.rang.map(({ text }) => text)).toEqual([expect.stringMatching(said)])
})

test('a request for two people with one phone rings once', async () => {
  const phone = createPhone()
  const people = {
    ann: { ids: ['telegram:1'], may: ['prompt', 'approve'], notify: ['phone'] },
    bob: { ids: ['telegram:2'], may: ['prompt', 'approve'], notify: ['phone'] },
    eve: { ids: ['telegram:3'], may: ['prompt'] },
  }
  const stage = await opened(phone, {}, {}, { people })
  stage.telegram.say(-1_001_000_001_234, '@fake_bot hold', { from: { id: 3, name: 'Eve' } })
  await stage.passes(() => runs.has('hold'))
  const run = runs.get('hold')
  if (run) askFor(run)
  await stage.passes(() => phone.calls > 0)
  await wait(100_000)
  expect(phone.calls).toBe(1)
})

test('a request does not ring for a person who left the list while it waited', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  stage.telegram.say(1, 'hold')
  await stage.passes(() => runs.has('hold'))
  const run = runs.get('hold')
  if (run) askFor(run)
  await wait(30_000)
  stage.chats.setPeople({ bob: { ids: ['telegram:2'], may: ['prompt'] } })
  await wait(100_000)
  expect(phone.calls).toBe(0)
})

/** A run of chat 1 whose agent goes on while no bridge runs, and the phone that rings. */
async function atWork() {
  const phone = createPhone()
  const clock = createHandClock()
  const begun: Job[] = []
  const agent = survivingAgent((job) => void begun.push(job), clock)
  const connect = () => agent.connectTo(async () => {})
  const stage = await opened(phone, {}, { notify: ['phone'] }, { clock, changed: connect })
  stage.telegram.say(1, 'Go on')
  await stage.passes(() => begun.length > 0)
  return { phone, stage, job: begun[0] ?? expect.fail('No run began.') }
}

test('a request that rang does not ring again after a restart, and one that waited does', async () => {
  const { phone, stage, job } = await atWork()
  const ask = (requestID: string, command: string): void => {
    const callID = `call_${requestID}`
    job.write({ type: 'tool', callID, tool: 'bash', state: { status: 'running', input: { command } } })
    const permission = { permission: 'bash', patterns: [command], always: [], title: command, metadata: {} }
    job.ask({ type: 'permission', requestID, callID, ...permission }, () => {})
  }
  ask('per_1', 'rm a')
  await stage.passes(() => phone.calls > 0)
  ask('per_2', 'rm b')
  await wait(30_000)
  await stage.stop()
  await stage.restart()
  await wait(100_000)
  expect(phone.rang.map(({ kind }) => kind)).toEqual(['ask', 'ask'])
  expect(new Set(phone.rang.map(({ id }) => id)).size).toBe(2)
})

test('a notice of a request that ended while no bridge ran is not sent', async () => {
  const { phone, stage, job } = await atWork()
  phone.faults.push(new PortError('rate-limited', 'slow down', { retryAfterMs: 600_000 }))
  const permission = { permission: 'bash', patterns: ['rm a'], always: [], title: 'rm a', metadata: {} }
  job.ask({ type: 'permission', requestID: 'per_1', ...permission }, () => {})
  await stage.passes(() => phone.calls > 0)
  await stage.stop()
  job.end()
  await stage.restart()
  await wait(100_000)
  expect(phone.rang.map(({ kind }) => kind)).toEqual(['final'])
})

test('a request that is answered in time does not ring', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  stage.telegram.say(1, 'hold')
  await stage.passes(() => runs.has('hold'))
  const run = runs.get('hold')
  const answers = run ? askFor(run) : []
  await stage.passes(() => stage.telegram.screen(1).some(({ buttons }) => buttons.flat().length > 0))
  const message = stage.telegram.screen(1).findLast(({ buttons }) => buttons.flat().length > 0)
  stage.telegram.press(1, message?.messageId ?? 0, 'Reject')
  await stage.passes(() => answers.length > 0)
  expect(answers).toHaveLength(1)
  await wait(100_000)
  expect(phone.rang).toEqual([])
})

test.each([
  ['rate-limited', new PortError('rate-limited', 'slow down', { retryAfterMs: 20_000 }), 0],
  ['unreachable', new PortError('unreachable', 'no network'), 0],
  ['lost', 'lost', 1],
] as const)('a notice whose call is %s is sent again', async (_, fault, doubtful) => {
  const phone = createPhone()
  const stage = await opened(phone)
  phone.faults.push(fault)
  answer(await longRun(stage), 'Done.')
  await stage.passes(() => results().length > 0)
  expect(results()).toEqual([{ ...sent, doubtful }])
  expect(phone.calls).toBe(2)
  expect(new Set(phone.rang.map(({ id }) => id)).size).toBe(1)
  expect(phone.rang).toHaveLength(1 + doubtful)
  await wait(100_000)
  expect(phone.calls).toBe(2)
})

/** A store that can't tell when people last acted while `isFailing`. */
function failingStore() {
  const commits: (readonly Write[])[] = []
  const made = { isFailing: false, commits, storeOf }
  return made

  function storeOf(store: Store): Store {
    return {
      ...store,
      list: async (prefix) => {
        if (made.isFailing && prefix.startsWith('acted/')) throw new StoreError('failed', 'The disk is full.')
        return await store.list(prefix)
      },
      commit: async (...given) => {
        commits.push(given[0])
        return await store.commit(...given)
      },
    }
  }
}

test('a run that ends while the store fails rings once the store works again', async () => {
  const phone = createPhone()
  const store = failingStore()
  const stage = await opened(phone, {}, undefined, store)
  const run = await longRun(stage)
  store.isFailing = true
  answer(run, 'Done.')
  await wait(10_000)
  expect(results()).toEqual([])
  store.isFailing = false
  await stage.passes(() => results().length > 0)
  expect(results()).toEqual([sent])
})

test('a request that waits while the store fails rings once the store works again', async () => {
  const phone = createPhone()
  const store = failingStore()
  const stage = await opened(phone, {}, undefined, store)
  stage.telegram.say(1, 'hold')
  await stage.passes(() => runs.has('hold'))
  const run = runs.get('hold')
  if (run) askFor(run)
  store.isFailing = true
  await wait(70_000)
  expect(phone.calls).toBe(0)
  store.isFailing = false
  await stage.passes(() => results().length > 0)
  expect(results()).toEqual([{ ...sent, kind: 'ask' }])
})

test('a bridge that stops while the store fails does not store that a run ended without its notice', async () => {
  const store = failingStore()
  const stage = await opened(createPhone(), {}, undefined, store)
  const run = await longRun(stage)
  store.isFailing = true
  answer(run, 'Done.')
  await stage.passes(() => stage.said(1).some((text) => text.includes('Done.')))
  await wait(10_000)
  store.commits.length = 0
  await stage.stop()
  expect(JSON.stringify(store.commits)).not.toMatch(/finishedAt/)
})

test('a notice that is not confirmed twice is given up, and the operator is told', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  phone.faults.push('lost', 'lost')
  answer(await longRun(stage), 'Done.')
  await stage.passes(() => results().length > 0)
  expect(results()).toEqual([{ ...sent, result: 'unconfirmed', doubtful: 2 }])
  expect(stage.chats.errors.map(({ message }) => message)).toEqual([
    'no answer',
    expect.stringMatching(/^The notice of run \w+ may not have reached phone: no call was confirmed\.$/),
  ])
})

test('a notice that is refused is not sent again, and the chat knows nothing of it', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  phone.faults.push(new PortError('refused', 'forbidden'))
  answer(await longRun(stage), 'Done.')
  await stage.passes(() => results().length > 0)
  expect(results()).toEqual([{ ...sent, result: 'refused' }])
  await wait(60_000)
  expect(phone.calls).toBe(1)
  expect(stage.said(1).join()).not.toMatch(/phone|forbidden|missing/)
})

test('a notice that can’t be sent for an hour is given up, and the answer does not wait for it', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  for (let nth = 0; nth < 200; nth++) phone.faults.push(new PortError('unreachable', 'no network'))
  answer(await longRun(stage), 'Done.')
  await stage.passes(() => stage.said(1).some((text) => text.includes('Done.')))
  for (let minute = 0; minute < 61; minute++) await wait(60_000)
  expect(results()).toEqual([{ ...sent, result: 'expired' }])
  expect(phone.rang).toEqual([])
  expect(stage.chats.errors).toHaveLength(1)
})

test('a notice that a process began is counted as in doubt by the next one, and sent once more', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  phone.faults.push('silent')
  answer(await longRun(stage), 'Done.')
  await stage.passes(() => phone.calls > 0)
  await stage.stop()
  expect(results()).toEqual([])
  await stage.restart()
  await stage.passes(() => results().length > 0)
  expect(results()).toEqual([{ ...sent, doubtful: 1 }])
  expect(phone.rang).toHaveLength(1)
})

test('a call that is under way at a stop ends first, so that its notice is not in doubt', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  let confirm = (): void => {}
  phone.faults.push(
    new Promise((resolve) => {
      confirm = resolve
    }),
  )
  answer(await longRun(stage), 'Done.')
  await stage.passes(() => phone.calls > 0)
  stage.clock.after(1000, confirm)
  await stage.stop()
  expect(results()).toEqual([sent])
  await stage.restart()
  await wait(10_000)
  expect(phone.calls).toBe(1)
})

test('a notice that waits at a stop is sent by the next process, once', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  phone.faults.push(new PortError('rate-limited', 'slow down', { retryAfterMs: 600_000 }))
  answer(await longRun(stage), 'Done.')
  await stage.passes(() => phone.calls > 0)
  await stage.stop()
  await stage.restart()
  await stage.passes(() => results().length > 0)
  expect(results()).toEqual([sent])
  expect(phone.calls).toBe(2)
})

test('a notice behind a limit of a month is given up after an hour', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  phone.faults.push(new PortError('rate-limited', 'slow down', { retryAfterMs: 30 * 86_400_000 }))
  answer(await longRun(stage), 'Done.')
  await stage.passes(() => phone.calls > 0)
  for (let minute = 0; minute < 61; minute++) await wait(60_000)
  expect(results()).toEqual([{ ...sent, result: 'expired' }])
  expect(phone.calls).toBe(1)
})

test('a run whose server leaves the config rings once, as failed', async () => {
  const phone = createPhone()
  const stage = await opened(phone)
  await longRun(stage)
  await stage.stop()
  await stage.restart({ serverName: 'other' })
  await stage.passes(() => results().length > 0)
  expect(results()).toEqual([{ ...sent, kind: 'failure' }])
  expect(phone.rang).toMatchObject([{ kind: 'failure', title: 'Failed' }])
  await stage.stop()
  await stage.restart()
  await wait(100_000)
  expect(phone.calls).toBe(1)
})

test.each([
  ['a group links to its message', -1_001_000_001_234, (id: number) => `https://t.me/c/1000001234/${id}`],
  ['a private chat links to the chat', 1, () => 'https://t.me/fake_bot'],
])('the notice of a run in %s', async (_, chat, linkTo) => {
  const phone = createPhone()
  const stage = await opened(phone)
  stage.telegram.say(chat, chat < 0 ? '@fake_bot hold' : 'hold', { from: { id: 1, name: 'Ann' } })
  await stage.passes(() => runs.has('hold'))
  await wait(90_000)
  const run = runs.get('hold')
  if (run) answer(run, 'Done.')
  await stage.passes(() => phone.rang.length > 0)
  const asked = stage.telegram.screen(chat).find(({ from }) => from !== 'bot')?.messageId
  expect(phone.rang[0]?.link).toBe(linkTo(asked ?? 0))
})

test('a bridge does not start if notices are to go to a channel with chats', async () => {
  const phone = createPhone()
  await expect(opened(phone, {}, { notify: ['telegram'] })).rejects.toThrow(
    'people.ann.notify.0: "telegram" has chats. Name a channel that only notifies.',
  )
})
