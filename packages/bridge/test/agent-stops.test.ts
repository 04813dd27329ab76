import { emptyReply, type Reply, ReplyError } from '@reply/core'
import { expect, test } from 'vitest'
import { takenOverError } from '../src/members/membership.ts'
import { createAgentStops } from '../src/runs/agent-stops.ts'
import type { Execution } from '../src/state/execution.ts'
import type { Write } from '../src/store/store.ts'
import { chatMessageOf, texts } from '../src/texts.ts'

const place = { channel: 'tg', chat: { id: '1' } }
const run = {
  ...{ id: 'abc', server: 'home', sessionID: 's1', phase: 'posting', status: 'running', startedAt: 1 },
  posted: { sessionID: 's1', messageID: 'msg_2', text: 'go', postedAt: 1 },
  prompt: { ...place, id: '5', actor: { id: '1' }, text: 'go', files: [], messageRef: { id: '5' }, receivedAt: 1 },
} as unknown as Execution
const key = 'stopping/home/s1'
const working = (promptIDs: readonly string[]): Reply => ({ ...emptyReply('s1'), phase: 'working', promptIDs })

/** Puts a run aside and stops its agent. Resolves with what was done, in order, and whether the stop is still stored. */
async function stopAgent({
  execution = run,
  others = [] as readonly Execution[],
  reply = async (): Promise<Reply | undefined> => working(['msg_2']),
  abort = async (): Promise<unknown> => undefined,
  isProcessStopped = false,
  server = 'home',
} = {}) {
  const steps: string[] = []
  const rows = new Map<string, string>()
  const commit = async (writes: readonly Write[]): Promise<boolean> => {
    for (const write of writes) {
      if (write.type === 'put') rows.set(write.key, write.value)
      if (write.type === 'remove') rows.delete(write.key)
    }
    if (writes.some(({ type }) => type === 'remove')) steps.push('removed')
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
      list: async () => [...rows].map(([name, value]) => ({ key: name, value })),
    },
    servers: new Map([[server, client]]),
    channels: {
      has: () => true,
      tryPost: async (_: unknown, { text }: { readonly text: string }) => void steps.push(text),
    },
    onError: (error: Error) => void errors.push(error),
  } as unknown as Parameters<typeof createAgentStops>[0]
  const stops = createAgentStops(services, () => isProcessStopped)
  await commit(stops.write(execution))
  const stored = await stops.stored()
  await stops.stop(execution, others)
  return { steps, stored, errors, isStored: rows.has(key) }
}

test('a stop is stored without the text of the prompt, made, and then removed', async () => {
  const { steps, stored, isStored } = await stopAgent()
  expect(stored).toEqual([{ ...run, prompt: { ...run.prompt, text: '' } }])
  expect([steps, isStored]).toEqual([['abort s1', 'removed'], false])
})

test('a stop that another process stored is made once more, also if the run is over on its server', async () => {
  const reply = async (): Promise<Reply> => ({ ...working(['msg_2']), phase: 'settled' })
  expect((await stopAgent({ reply })).steps).toEqual(['abort s1', 'removed'])
  expect((await stopAgent({ reply: async () => undefined })).steps).toEqual(['abort s1', 'removed'])
})

test('a stop that the server does not confirm is reported once, told the chat, and left to /stop', async () => {
  const refused = new ReplyError('not-stopped', 'It goes on.')
  const abort = async () => await Promise.reject(refused)
  const { steps, errors, isStored } = await stopAgent({ abort })
  expect(steps).toEqual(['abort s1', 'removed', texts.notStopped(chatMessageOf(refused))])
  expect([errors, isStored]).toEqual([[refused], false])
})

test('a server that can’t be reached counts as one that does not confirm the stop', async () => {
  const refused = new ReplyError('unreachable', 'It is off.')
  const reply = async () => await Promise.reject(refused)
  const { steps, errors, isStored } = await stopAgent({ reply })
  expect(steps).toEqual(['removed', texts.notStopped(chatMessageOf(refused))])
  expect([errors.length, isStored]).toEqual([1, false])
})

test.each([
  ['this process stops', { isProcessStopped: true, abort: async () => await Promise.reject(new Error('Closed.')) }],
  ['another process takes over', { abort: async () => await Promise.reject(takenOverError()) }],
])('a stop is left to the next process if %s meanwhile', async (_, options) => {
  const { steps, errors, isStored } = await stopAgent(options)
  expect([steps, errors, isStored]).toEqual([['abort s1'], [], true])
})

test.each<[string, Parameters<typeof stopAgent>[0]]>([
  ['another run of the bridge needs the session', { others: [run, { ...run, id: 'next' }] }],
  ['the session works on a prompt of a terminal', { reply: async () => working(['msg_7']) }],
  ['the session works on an unprompted run of later', { execution: { ...run, startedBy: 'msg_3', posted: undefined } }],
  ['the config no longer has the server', { server: 'other' }],
])('nothing is aborted if %s', async (_, options) => {
  const { steps, isStored } = await stopAgent(options)
  expect([steps, isStored]).toEqual([['removed'], false])
})

test.each<[string, Partial<Execution>]>([
  ['was started elsewhere', { followed: 'asks' }],
  ['steers another one', { isSteer: true }],
  ['has no session yet', { sessionID: undefined }],
])('a run that %s has no stop', async (_, change) => {
  const { steps, stored } = await stopAgent({ execution: { ...run, ...change } })
  expect([steps, stored]).toEqual([[], []])
})
