import { emptyReply, type Message, type Reply, ReplyError } from '@reply/core'
import { withResolvers } from '@reply/sink/internal'
import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { takenOverError } from '../src/members/membership.ts'
import { createAgentStops } from '../src/runs/agent-stops.ts'
import type { Execution } from '../src/state/execution.ts'
import { StoreError, type Write } from '../src/store/store.ts'
import { chatMessageOf, texts } from '../src/texts.ts'

const place = { channel: 'tg', chat: { id: '1' } }
const run = {
  ...{ id: 'abc', server: 'home', sessionID: 's1', phase: 'posting', status: 'running', startedAt: 1 },
  posted: { sessionID: 's1', messageID: 'msg_2', text: 'go', at: 1 },
  prompt: {
    ...{
      ...place,
      id: '5',
      actor: { id: '1', name: 'Ann' },
      text: 'go',
      files: [],
      messageRef: { id: '5' },
      receivedAt: 1,
    },
    isCommand: false,
  },
} as const satisfies Execution
/** A run on a server that makes the ids of prompts. */
const unnamed: Execution = { ...run, posted: { sessionID: 's1', after: 'msg_1', text: 'go', at: 1 } }
const key = 'stopping/tg/1//abc'
const working = (promptIDs: readonly string[], text = 'go'): Reply => ({
  ...{ ...emptyReply('s1'), phase: 'working', promptIDs },
  prompt: { text, files: [], parts: [] },
})

/** Puts a run aside and stops its agent. Resolves with what was done, in order, and whether the stop is still stored. */
async function stopAgent({
  execution = run as Execution,
  others = [] as readonly Execution[],
  reply = async (): Promise<Reply | undefined> => working(['msg_2']),
  abort = async (): Promise<unknown> => undefined,
  isProcessStopped = false,
  server = 'home',
  shownAs = undefined as string | undefined,
  isAtWork = true,
  isAgain = false,
  isPoison = false,
  isStateFailing = false,
} = {}) {
  const steps: string[] = []
  const rows = new Map<string, string>()
  if (shownAs !== undefined) rows.set(`ledger/tg/1/s1/${shownAs}`, '')
  const commit = async (writes: readonly Write[]): Promise<boolean> => {
    for (const write of writes) {
      if (isStateFailing && write.type === 'remove') throw new StoreError('failed', 'The disk is full.')
      if (write.type === 'put') rows.set(write.key, write.value)
      if (write.type === 'remove') rows.delete(write.key)
      steps.push(write.type)
    }
    return true
  }
  const client = {
    reply,
    abort: async (sessionID: string) => {
      steps.push(`abort ${sessionID}`)
      return await abort()
    },
  }
  const errors: Error[] = []
  const services = {
    state: {
      commit,
      withRetries: async (call: () => Promise<unknown>) => await call(),
      list: async (prefix: string) =>
        [...rows].flatMap(([name, value]) => (name.startsWith(prefix) ? [{ key: name, value }] : [])),
    },
    servers: new Map([[server, client]]),
    channels: {
      has: () => true,
      sinkFields: () => ({}),
      sinkFor: () => ({
        replySettled: ({ reply: { error } }: { readonly reply: Reply }) => steps.push(`closed with ${error?.message}`),
        settled: async () => ({ undelivered: [] }),
      }),
      tryPost: async (_: unknown, { text }: { readonly text: string }) => void steps.push(text),
    },
    ...{
      mirrors: { others: () => [] },
      config: { router: { progress: {} } },
      fileReaders: () => undefined,
      pages: () => undefined,
    },
    ...{ clock: createHandClock(), people: {} },
    tries: {
      next: (_: string, row: object) => (isPoison ? undefined : row),
      make: async (name: string, _: unknown, handle: () => Promise<void>) => {
        steps.push(`try ${name}`)
        await handle()
      },
    },
    onError: (error: Error) => void errors.push(error),
  } as unknown as Parameters<typeof createAgentStops>[0]
  const stops = createAgentStops(services, () => isProcessStopped)
  const planned = await stops.planFor(execution, isAtWork)
  if (planned) await commit([stops.write(planned)])
  const stored = await stops.stored()
  const told = withResolvers<void>()
  const make = async (stop: Execution): Promise<void> =>
    isAgain ? await stops.makeAgain(stop, others) : await stops.make(stop, others, told.promise)
  for (const stop of stored) await make(stop)
  const isStored = rows.has(key)
  told.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  return { steps: steps.slice(stored.length), stored, errors, isStored, isStoredLater: rows.has(key) }
}

test('a stop is stored without the text of the prompt, made, and removed once the chat was told and the messages are closed', async () => {
  const { steps, stored, isStored, isStoredLater } = await stopAgent({ shownAs: 'msg_2' })
  expect(stored).toMatchObject([{ id: 'abc', phase: 'posting', prompt: { text: '' } }])
  expect(steps).toEqual(['abort s1', 'put', `closed with ${texts.poisonReason}`, 'remove'])
  expect([isStored, isStoredLater]).toEqual([true, false])
})

test('a stop of an earlier process is tried like other rows, and closes the messages too', async () => {
  const { steps, isStored, isStoredLater } = await stopAgent({ shownAs: 'msg_2', isAgain: true })
  expect(steps).toEqual([`try ${key}`, 'abort s1', 'put', `closed with ${texts.poisonReason}`, 'remove'])
  // The chat goes on before its platform took the edit.
  expect([isStored, isStoredLater]).toEqual([true, false])
})

test('a stop that ended each process which made it is given up, and the chat is told', async () => {
  const { steps, errors } = await stopAgent({ isAgain: true, isPoison: true })
  expect(steps).toEqual(['remove', texts.notStopped(texts.stopEndsBridge)])
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('stopped the agent of run abc')])
})

test('a stop is given up by the next process if the state fails, which then tells the chat once', async () => {
  const { steps, errors } = await stopAgent({ isAgain: true, isPoison: true, isStateFailing: true })
  expect([steps, errors.map(({ message }) => message)]).toEqual([[], ['The disk is full.']])
})

test('the chat is not told of a stop that was made, and only ended each process which closed the messages', async () => {
  const answered = { isAtWork: false, shownAs: 'msg_2' }
  const { steps, errors } = await stopAgent({ ...answered, isAgain: true, isPoison: true })
  expect(steps).toEqual(['remove'])
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('closed the messages of run abc')])
  expect((await stopAgent(answered)).steps).toEqual([`closed with ${texts.poisonReason}`, 'remove'])
})

test('a stop is also made if the run is over on its server', async () => {
  const reply = async (): Promise<Reply> => ({ ...working(['msg_2']), phase: 'settled' })
  expect((await stopAgent({ reply })).steps).toEqual(['abort s1', 'put', 'remove'])
  expect((await stopAgent({ reply: async () => undefined })).steps).toEqual(['abort s1', 'put', 'remove'])
})

test('a stop that the server does not confirm is reported once, told the chat, and left to /stop', async () => {
  const refused = new ReplyError('not-stopped', 'It goes on.')
  const abort = async () => await Promise.reject(refused)
  const { steps, errors, isStoredLater } = await stopAgent({ abort })
  expect(steps).toEqual(['abort s1', 'put', texts.notStopped(chatMessageOf(refused)), 'remove'])
  expect([errors, isStoredLater]).toEqual([[refused], false])
})

test('a server that can’t be reached counts as one that does not confirm the stop', async () => {
  const refused = new ReplyError('unreachable', 'It is off.')
  const reply = async () => await Promise.reject(refused)
  const { steps, errors, isStoredLater } = await stopAgent({ reply })
  expect(steps).toEqual(['put', texts.notStopped(chatMessageOf(refused)), 'remove'])
  expect([errors.length, isStoredLater]).toEqual([1, false])
})

test.each([
  ['this process stops', { isProcessStopped: true, abort: async () => await Promise.reject(new Error('Closed.')) }],
  ['another process takes over', { abort: async () => await Promise.reject(takenOverError()) }],
])('a stop is left to the next process if %s meanwhile', async (_, options) => {
  const { steps, stored, errors, isStoredLater } = await stopAgent(options)
  expect([steps, errors, isStoredLater]).toEqual([['abort s1'], [], true])
  expect(stored).toMatchObject([{ phase: 'posting' }])
})

test.each<[string, Parameters<typeof stopAgent>[0]]>([
  ['another run of the bridge needs the session', { others: [run, { ...run, id: 'next' }] }],
  ['the session works on a prompt of a terminal', { reply: async () => working(['msg_7']) }],
  ['the session works on an unprompted run of later', { execution: { ...run, startedBy: 'msg_3', posted: undefined } }],
  ['the session has run another prompt since', { reply: async () => ({ ...working(['msg_7']), phase: 'settled' }) }],
  ['the config no longer has the server', { server: 'other' }],
])('nothing is aborted if %s', async (_, options) => {
  const { steps } = await stopAgent(options)
  expect(steps).toEqual(['put', 'remove'])
})

describe('on a server that makes the ids of prompts', () => {
  test('the run is known by its text and time before a chat shows it', async () => {
    const made = async (text: string, startedAt = 1) =>
      (await stopAgent({ execution: unnamed, reply: async () => ({ ...working(['msg_2'], text), startedAt }) })).steps
    expect(await made('go')).toEqual(['abort s1', 'remove'])
    expect(await made('go', 12_001)).toEqual(['abort s1', 'remove'])
    expect(await made('another')).toEqual(['remove'])
  })

  const first: Message = { id: 'msg_3', parts: [], raw: undefined, createdAt: 12_002 }
  test.each<[string, string, Partial<Reply>]>([
    ['contains its text, as a plugin’s addition would', 'let’s go on', { startedAt: 1 }],
    ['has the same text and began later', 'go', { startedAt: 12_002 }],
    ['has the same text and began at an unknown time', 'go', {}],
    ['has the same text and began later, as its server tells', 'go', { startedAt: 1, messages: [first] }],
  ])('a prompt of another client is never stopped for it: one that %s', async (_, text, times) => {
    const reply = async () => ({ ...working(['msg_2'], text), ...times })
    const { steps } = await stopAgent({ execution: unnamed, reply })
    expect(steps).toEqual(['remove', texts.notStopped(texts.maybeOfOther)])
  })

  test('the run is known by the id under which a chat shows it, and a later one with the same text is another', async () => {
    const made = async (promptID: string) =>
      (await stopAgent({ execution: unnamed, shownAs: 'msg_2', reply: async () => working([promptID]) })).steps
    expect(await made('msg_2')).toEqual(['abort s1', 'put', `closed with ${texts.poisonReason}`, 'remove'])
    expect(await made('msg_3')).toEqual(['put', `closed with ${texts.poisonReason}`, 'remove'])
  })

  test('a run that may be another one is not aborted, and its chat is told', async () => {
    const execution: Execution = { ...unnamed, posted: { sessionID: 's1', after: 'msg_1', at: 1 } }
    const reply = async () => working(['msg_2'])
    const { steps, errors } = await stopAgent({ execution, reply })
    expect(steps).toEqual(['remove', texts.notStopped(texts.maybeOfOther)])
    expect(errors.map(({ message }) => message)).toEqual([texts.maybeOfOther])
    const over = async (): Promise<Reply> => ({ ...working(['msg_2']), phase: 'settled' })
    expect((await stopAgent({ execution, reply: over })).steps).toEqual(['remove'])
  })
})

test.each<[string, Partial<Execution>]>([
  ['was started elsewhere', { followed: 'asks' }],
  ['steers another one', { isSteer: true }],
  ['has no session yet', { sessionID: undefined }],
])('a run that %s has no stop', async (_, change) => {
  const { steps, stored } = await stopAgent({ execution: { ...run, ...change } })
  expect([steps, stored]).toEqual([[], []])
})
