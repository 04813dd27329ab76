import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { ReplyError, type ReplyEvent, type ReplyStream, textOf } from '../../src/index.ts'
import { connectSource, type SessionRead, type Source } from '../../src/source.ts'
import { busy, ended, idle, text, user } from '../make.ts'
import { createMemorySource } from '../source/memory-source.ts'

const sessionID = 'ses_1'
/** What a call does that gets no answer. */
const unanswered = (): never => {
  throw new ReplyError('unreachable', 'It does not answer.')
}
const childID = 'ses_below'

/** Finds a prompt that an earlier process queued as `msg_9`, and that waits. Resolves with its stream. */
async function resumeWaiting({
  opencode,
  rest,
  waiting,
}: Pick<Awaited<ReturnType<typeof stage>>, 'opencode' | 'rest' | 'waiting'>): Promise<ReplyStream> {
  waiting.push('msg_9')
  const found = opencode.resume({ sessionID, messageID: 'msg_9', at: 0 })
  await rest()
  const resumed = await found
  if (resumed.type !== 'found') throw new Error(resumed.type)
  return resumed.stream
}

/** An agent whose session is at work on a first prompt, and keeps later ones until their turn. */
async function stage({ withdraws = (): boolean => true, reads = (): boolean => true } = {}) {
  const waiting: string[] = []
  const withdrawn: string[] = []
  /** The same in the session of its sub-agent. */
  const below: string[] = []
  const inboxOf = (id: string): string[] => (id === childID ? below : waiting)
  /** The messages over REST. */
  const stored = new Set<string>()
  let isBusy = true
  let count = 0
  const gone = (): never => {
    throw new ReplyError('gone', 'It is not in the session.')
  }
  let isDown = false
  /** What a call resolves with, unless the server is down. */
  const up = <Value>(value: Value): Value => (isDown ? unanswered() : value)
  const calls: Partial<Source> = {
    children: async (place) => (place.sessionID === sessionID ? [{ sessionID: childID, parentID: sessionID }] : []),
    waiting: async (place) => up([...inboxOf(place.sessionID)]),
    withdraw: async (place, messageID) => {
      const inbox = inboxOf(place.sessionID)
      if (!withdraws() || !inbox.includes(messageID)) return false
      withdrawn.push(...inbox.splice(inbox.indexOf(messageID), 1))
      return true
    },
    working: async () => new Map(isBusy ? [[sessionID, { status: 'busy' as const }]] : []),
    message: async (_, messageID) => (up(stored).has(messageID) ? undefined : gone()),
    session: async (place) => place,
    prompt: async (_, { messageID = '' }) => {
      if (count > 1) waiting.push(messageID)
    },
    startReading: () => ({
      working: async () => new Map(isBusy ? [[sessionID, { status: 'busy' as const }]] : []),
      session: async () => await reading(),
    }),
  }
  const reading = async (): Promise<SessionRead> => ({
    info: up(reads()) ? { sessionID } : unanswered(),
    messages: [],
    isWhole: true,
    isSound: true,
    working: isBusy ? { status: 'busy' } : undefined,
    asks: [],
    todos: [],
    children: [],
  })
  const memory = createMemorySource(
    { canRead: true, takesPromptsWhileBusy: true, queuesPrompts: true, nextMessageID: () => `msg_${++count}` },
    calls,
  )
  const clock = createHandClock()
  const source: Source = {
    ...memory.source,
    async *connect(options) {
      yield* up(memory.source).connect(options)
    },
  }
  const opencode = connectSource(source, { clock, random: () => 0 })
  await opencode.ready
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 30; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const first = opencode.prompt({ text: 'One.' })
  await rest()
  memory.send(user('msg_1', { sessionID }), busy(sessionID))
  await rest()
  return {
    memory,
    opencode,
    clock,
    rest,
    first,
    waiting,
    below,
    withdrawn,
    stored,
    advance: (ms: number) => clock.advance(ms, rest),
    stop: () => {
      isBusy = false
    },
    outage: (isOut: boolean) => {
      isDown = isOut
    },
    /** The first prompt is answered, and another client's prompt begins a run before a second one, which waits behind it. */
    overtake: async () => {
      memory.send(...answer('m1', 'One.'), idle(sessionID))
      isBusy = false
      await rest()
      const second = opencode.prompt({ text: 'Two.', sessionID })
      await rest()
      isBusy = true
      memory.send(user('msg_desk', { sessionID }), busy(sessionID))
      await rest()
      return second
    },
    /** The queued prompt has its turn, and the run ends with its answer. */
    deliver: async (...more: readonly ReplyEvent[]) => {
      const [id = ''] = waiting.splice(0, 1)
      stored.add(id)
      memory.send(user(id, { sessionID }), ...more)
      await rest()
    },
  }
}

const answer = (id: string, words: string): readonly ReplyEvent[] => [
  ended(id, { sessionID }),
  text(id, words, { sessionID, status: 'sealed' }),
]

test('a queued prompt waits for minutes, and its result is the run that took it in', async () => {
  const { opencode, memory, rest, first, advance, deliver } = await stage()
  const queued = opencode.prompt({ text: 'Two.', sessionID, delivery: 'queue' })
  await rest()
  await advance(300_000)
  expect([queued.reply, queued.joined]).toEqual([undefined, undefined])
  await deliver(...answer('m2', 'Both.'), idle(sessionID))
  const reply = await queued.result
  expect([reply.outcome, textOf(reply), reply.promptIDs, queued.joined]).toEqual([
    'completed',
    'Both.',
    ['msg_1', 'msg_2'],
    true,
  ])
  expect(await first.result).toBe(reply)
  expect(memory.aborted).toEqual([])
  await opencode.close()
})

test.each(['abort', 'signal'] as const)('%s takes back a prompt that waits, and the run goes on', async (how) => {
  const { opencode, memory, rest, first, withdrawn } = await stage()
  const abort = new AbortController()
  const queued = opencode.prompt({ text: 'Two.', sessionID, delivery: 'queue' }, { signal: abort.signal })
  await rest()
  if (how === 'abort') await queued.abort()
  else abort.abort()
  const reply = await queued.result
  expect([reply.outcome, reply.parkedPromptIDs, withdrawn]).toEqual(['aborted', undefined, ['msg_2']])
  expect([first.reply?.phase, memory.aborted]).toEqual(['working', []])
  memory.send(...answer('m1', 'Only one.'), idle(sessionID))
  expect(textOf(await first.result)).toBe('Only one.')
  await opencode.close()
})

test('an abort of the run takes back the prompts behind it, and their streams end', async () => {
  const { opencode, memory, rest, first, waiting, withdrawn, stop, advance } = await stage()
  const queued = opencode.prompt({ text: 'Two.', sessionID, delivery: 'queue' })
  await rest()
  const aborted = first.abort()
  stop()
  await rest()
  memory.send(...answer('m1', 'Half.'), idle(sessionID))
  await advance(5000)
  expect(await aborted).toMatchObject({ outcome: 'aborted', parkedPromptIDs: undefined })
  expect([(await queued.result).outcome, waiting, withdrawn]).toEqual(['aborted', [], ['msg_2']])
  await opencode.close()
})

test('what a server cannot take back stays in the session, and both replies say so', async () => {
  const { opencode, memory, rest, first, waiting, stop, advance } = await stage({ withdraws: () => false })
  const queued = opencode.prompt({ text: 'Two.', sessionID, delivery: 'queue' })
  await rest()
  const aborted = first.abort()
  stop()
  await rest()
  memory.send(...answer('m1', 'Half.'), idle(sessionID))
  await advance(5000)
  expect(await aborted).toMatchObject({ outcome: 'aborted', parkedPromptIDs: ['msg_2'] })
  expect(await queued.result).toMatchObject({ outcome: 'aborted', parkedPromptIDs: ['msg_2'], promptIDs: [] })
  expect(waiting).toEqual(['msg_2'])
  await opencode.close()
})

test.each([
  [true, undefined, []],
  [false, ['msg_below'], ['msg_below']],
])('an abort takes back what waits in a sub-agent, or says that it stays (%s)', async (withdraws, parked, left) => {
  const { opencode, memory, rest, first, below, stop, advance } = await stage({ withdraws: () => withdraws })
  below.push('msg_below')
  const aborted = first.abort()
  stop()
  await rest()
  memory.send(...answer('m1', 'Half.'), idle(sessionID))
  await advance(5000)
  expect(await aborted).toMatchObject({ outcome: 'aborted', parkedPromptIDs: parked })
  expect(below).toEqual(left)
  await opencode.close()
})

test('a prompt that its idle session keeps is parked: its run was ended elsewhere', async () => {
  const { opencode, rest, stop, advance } = await stage()
  const queued = opencode.prompt({ text: 'Two.', sessionID, delivery: 'queue' })
  await rest()
  stop()
  await advance(1000)
  expect(queued.reply).toBeUndefined()
  await advance(4000)
  expect(await queued.result).toMatchObject({ outcome: 'aborted', parkedPromptIDs: ['msg_2'] })
  await opencode.close()
})

test('a prompt that another client took back ends as aborted', async () => {
  const { opencode, rest, waiting, advance } = await stage()
  const queued = opencode.prompt({ text: 'Two.', sessionID, delivery: 'queue' })
  await rest()
  waiting.length = 0
  await advance(2000)
  expect(await queued.result).toMatchObject({ outcome: 'aborted', parkedPromptIDs: undefined })
  await opencode.close()
})

test('a prompt that an earlier process queued is found where it waits, and followed from there', async () => {
  const { opencode, rest, advance, waiting, deliver } = await stage()
  const stream = await resumeWaiting({ opencode, rest, waiting })
  await advance(300_000)
  expect(stream.reply).toBeUndefined()
  await deliver(...answer('m2', 'Both.'), idle(sessionID))
  expect(textOf(await stream.result)).toBe('Both.')
  await opencode.close()
})

test('a queued prompt of an earlier process can be taken back', async () => {
  const { opencode, rest, waiting, withdrawn, first } = await stage()
  const stream = await resumeWaiting({ opencode, rest, waiting })
  expect((await stream.abort()).outcome).toBe('aborted')
  expect([withdrawn, first.reply?.phase]).toEqual([['msg_9'], 'working'])
  await opencode.close()
})

/** A withdrawal that the server does not answer the first time, and one that it refuses then. */
const failing = [
  ['is not answered', unanswered],
  ['is refused', () => false],
] as const

test.each(failing)(
  'an earlier process’s queued prompt whose withdrawal %s at first is withdrawn, and the run before it goes on',
  async (_, fail) => {
    let failures = 1
    const withdraws = (): boolean => (failures-- > 0 ? fail() : true)
    const { opencode, memory, rest, waiting, withdrawn, first, advance } = await stage({ withdraws })
    const stopped = (await resumeWaiting({ opencode, rest, waiting })).abort()
    await advance(10_000)
    expect((await stopped).outcome).toBe('aborted')
    expect([withdrawn, first.reply?.phase, memory.aborted]).toEqual([['msg_9'], 'working', []])
    await opencode.close()
  },
)

test.each(failing)(
  'a queued prompt whose withdrawal %s at first is withdrawn, and the run before it goes on',
  async (_, fail) => {
    let failures = 1
    const withdraws = (): boolean => (failures-- > 0 ? fail() : true)
    const { opencode, memory, rest, withdrawn, first, advance } = await stage({ withdraws })
    const queued = opencode.prompt({ text: 'Two.', sessionID, delivery: 'queue' })
    await rest()
    const stopped = queued.abort()
    await advance(10_000)
    expect((await stopped).outcome).toBe('aborted')
    expect([withdrawn, first.reply?.phase, memory.aborted]).toEqual([['msg_2'], 'working', []])
    await opencode.close()
  },
)

test('a queued prompt that can’t be withdrawn is not stopped, and the run before it goes on', async () => {
  const { opencode, memory, rest, waiting, first, advance } = await stage({ withdraws: unanswered })
  const stopped = (await resumeWaiting({ opencode, rest, waiting })).abort()
  await advance(31_000)
  expect((await stopped).lostReason).toBe('not-stopped')
  expect([waiting, first.reply?.phase, memory.aborted]).toEqual([['msg_9'], 'working', []])
  await opencode.close()
})

test('a prompt that is looked for is found after an outage of half an hour', async () => {
  const { opencode, memory, rest, advance, waiting, stored, outage } = await stage()
  waiting.push('msg_9')
  const found = opencode.resume({ sessionID, messageID: 'msg_9', at: 0 })
  await rest()
  const resumed = await found
  if (resumed.type !== 'found') throw new Error(resumed.type)
  outage(true)
  // It has its turn meanwhile.
  waiting.length = 0
  stored.add('msg_9')
  memory.cut()
  await advance(1_800_000)
  outage(false)
  await advance(60_000)
  memory.send(user('msg_9', { sessionID }), ...answer('m2', 'Both.'), idle(sessionID))
  await rest()
  expect(textOf(await resumed.stream.result)).toBe('Both.')
  await opencode.close()
})

test('a prompt that another client overtook is withdrawn, also if that fails at first', async () => {
  let failures = 1
  const withdraws = (): boolean => failures-- <= 0
  const { opencode, advance, waiting, withdrawn, overtake } = await stage({ withdraws })
  const second = await overtake()
  expect(waiting).toEqual(['msg_2'])
  void second.abort()
  await advance(60_000)
  expect([(await second.result).outcome, waiting, withdrawn]).toEqual(['aborted', [], ['msg_2']])
  await opencode.close()
})

test('a queued prompt behind a run that has ended, and then another client’s, is withdrawn, also if that fails at first', async () => {
  let failures = 1
  const withdraws = (): boolean => failures-- <= 0
  const { opencode, memory, rest, advance, first, withdrawn } = await stage({ withdraws })
  const queued = opencode.prompt({ text: 'Two.', sessionID, delivery: 'queue' })
  await rest()
  memory.send(...answer('m1', 'One.'), idle(sessionID))
  memory.send(user('msg_desk', { sessionID }), busy(sessionID))
  await rest()
  expect([first.reply?.phase, queued.reply]).toEqual(['settled', undefined])
  void queued.abort()
  await advance(60_000)
  expect([(await queued.result).outcome, withdrawn, memory.aborted]).toEqual(['aborted', ['msg_2'], []])
  await opencode.close()
})

test.each([
  ['waits on a server that can’t withdraw it', () => true],
  ['was looked for once before the server stopped answering', (read: number) => read <= 1],
])('a stop of a prompt that %s says that it may still run', async (_, answers) => {
  let reads = 0
  let isStopped = false
  const { opencode, advance, memory, overtake } = await stage({
    withdraws: () => false,
    reads: () => !isStopped || answers(++reads),
  })
  const second = await overtake()
  isStopped = true
  void second.abort()
  await advance(60_000)
  expect([(await second.result).lostReason, memory.aborted]).toEqual(['not-stopped', []])
  await opencode.close()
})
