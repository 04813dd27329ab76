import { createHandClock, type HandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { type Client, type Reply, type ReplyStream, textOf } from '../../src/index.ts'
import { createSharedServer, type ServerRules, type Wire } from './shared-server.ts'

const old: ServerRules = { version: '1.1.65', losesLatePrompts: true }
const stepMs = 20

/** A session whose first prompt was answered, on a server where each step takes `stepMs`. */
async function startSession({
  rules,
  wire = {},
  stepsTake = () => stepMs,
}: {
  readonly rules?: ServerRules
  readonly wire?: Partial<Wire>
  readonly stepsTake?: () => number
} = {}) {
  const clock = createHandClock()
  const advance = async (durationMs: number): Promise<void> => await clock.advance(durationMs, rest)
  const server = createSharedServer(clock, { mayPrompt: () => true, delayMs: () => 1, ...wire }, stepsTake, rules)
  const { opencode, errors, cut } = server.connect()
  const one = opencode.prompt({ text: 'prompt 1.' })
  await advance(2000)
  const { sessionID } = await one.result
  return { clock, advance, server, opencode, errors, cut, sessionID }
}

/** Waits until nothing moves any more. */
async function rest(): Promise<void> {
  for (let calm = 0; calm < 3; calm++) await new Promise<void>((resolve) => setImmediate(resolve))
}

/** Returns an `onPosting` that waits until a time. */
const until = (clock: HandClock, at: number) => async (): Promise<void> =>
  await new Promise((resolve) => void clock.after(at - clock.now(), resolve))

/** How long after its prompt the run of the desk reads the prompts, and how long after it ends its last step, in ms. */
const readsAtMs = 2 * stepMs
const endsAtMs = readsAtMs + 7 * stepMs - 5

/** Collects what each observer of a prompt sees: the texts, and the ends. */
function observing() {
  const calls: { texts: string[]; ends: string[] }[] = []
  const observe = () => {
    const seen: (typeof calls)[number] = { texts: [], ends: [] }
    calls.push(seen)
    const show = ({ reply }: { reply: Reply }): void => void seen.texts.push(textOf(reply))
    return [
      {
        partAdded: show,
        partChanged: show,
        replySettled: ({ reply }: { reply: Reply }) => void seen.ends.push(textOf(reply)),
      },
    ]
  }
  return { calls, observe }
}

test('a prompt that another client overtakes shows nothing of its run, and then its own answer', async () => {
  const delayMs = (what: string, _: unknown, path: string): number =>
    what === 'request' && path.endsWith('/prompt_async') ? 500 : 1
  const { advance, server, opencode, sessionID } = await startSession({ wire: { delayMs } })
  const { calls, observe } = observing()
  const elsewhere: string[] = []
  opencode.on('replySettled', ({ reply }) => void elsewhere.push(textOf(reply)))
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' }, { observe })
  await advance(100)
  expect(two.reply?.phase).toBe('waiting')
  server.promptElsewhere(sessionID, 'desk.')
  await advance(300)
  expect([server.answers.size, two.reply?.phase, two.joined]).toEqual([2, 'waiting', undefined])
  await advance(2000)
  const reply = await two.result
  expect([textOf(reply), reply.prompt?.text, two.joined]).toEqual(['Answer to prompt 2.', 'prompt 2.', false])
  expect(calls.map(({ ends }) => ends)).toEqual([['Answer to prompt 2.']])
  expect(calls.flatMap(({ texts }) => texts).filter((text) => text.includes('desk'))).toEqual([])
  expect(elsewhere).toEqual(['Answer to desk.', 'Answer to prompt 2.'])
  await opencode.close()
})

test('a plugin that adds to the text of a prompt makes it no other client’s', async () => {
  const { advance, opencode, sessionID } = await startSession({
    rules: { ...old, rewritten: (text) => `${text} Be brief.` },
  })
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' })
  await advance(readsAtMs + 3 * stepMs)
  expect([two.reply?.phase, two.joined]).toEqual(['working', false])
  await advance(2000)
  expect([textOf(await two.result), two.joined]).toEqual(['Answer to prompt 2.', false])
  await opencode.close()
})

test('a plugin that rewrites the text of a prompt delays its answer, and makes it no other client’s', async () => {
  const { advance, opencode, sessionID } = await startSession({
    rules: { ...old, rewritten: (text) => text.replace('prompt 2', 'Rewritten') },
  })
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' })
  await advance(60_000)
  expect([textOf(await two.result), two.joined]).toEqual(['Answer to prompt 2.', true])
  await opencode.close()
})

/** A prompt whose post is answered while the desk's prompt runs, which overtook it. It is stored after `storesAfterMs`. */
async function overtaken(storesAfterMs: number, options?: Parameters<Client['prompt']>[1]) {
  const aborts: string[] = []
  const delayMs = (what: string, _: unknown, path: string): number => {
    if (what === 'request' && path.endsWith('/abort')) aborts.push(path)
    return 1
  }
  let takesMs = stepMs
  let afterMs = 0
  const rules = { ...old, storesAfterMs: () => afterMs }
  const started = await startSession({ rules, wire: { delayMs }, stepsTake: () => takesMs })
  const { advance, server, opencode, sessionID } = started
  afterMs = storesAfterMs
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' }, options)
  await advance(100)
  expect(two.reply?.phase).toBe('waiting')
  server.promptElsewhere(sessionID, 'desk.')
  await advance(4 * stepMs)
  expect([two.reply?.phase, two.joined]).toEqual(['waiting', undefined])
  takesMs = 40_000
  const hurry = (): void => {
    takesMs = stepMs
  }
  return { ...started, two, aborts, hurry }
}

test('a prompt that the server stores 8 s after it answered the post gets its own answer, not the one before it', async () => {
  const { advance, opencode, two, hurry } = await overtaken(8000)
  hurry()
  await advance(60_000)
  expect([textOf(await two.result), two.joined]).toEqual(['Answer to prompt 2.', false])
  await opencode.close()
})

test('a stop of a prompt that the server has not stored leaves the only run alone, and says that it may still run', async () => {
  const { advance, opencode, two, aborts } = await overtaken(Number.POSITIVE_INFINITY)
  await advance(1000)
  void two.abort()
  await advance(60_000)
  expect([(await two.result).lostReason, aborts]).toEqual(['not-stopped', []])
  await opencode.close()
})

test('the signal of a prompt that the server never stores leaves the only run alone', async () => {
  const stop = new AbortController()
  const { advance, opencode, two, aborts } = await overtaken(Number.POSITIVE_INFINITY, { signal: stop.signal })
  await advance(20_000)
  expect(two.joined).toBe(true)
  stop.abort()
  await advance(5000)
  expect(aborts).toEqual([])
  await opencode.close()
})

test('a picture of another client is not taken for a prompt with a text', async () => {
  const delayMs = (what: string, _: unknown, path: string): number =>
    what === 'request' && path.endsWith('/prompt_async') ? 500 : 1
  const { advance, server, opencode, sessionID } = await startSession({ rules: old, wire: { delayMs } })
  const { calls, observe } = observing()
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' }, { observe })
  await advance(100)
  server.promptElsewhere(sessionID, '')
  await advance(60_000)
  expect([textOf(await two.result), two.joined]).toEqual(['Answer to prompt 2.', false])
  expect(calls.map(({ ends }) => ends)).toEqual([['Answer to prompt 2.']])
  await opencode.close()
})

test('a picture of another client that comes into a run is not taken for a prompt with a text', async () => {
  const delayMs = (what: string, _: unknown, path: string): number =>
    what === 'request' && path.endsWith('/prompt_async') ? 1500 : 1
  const { advance, server, opencode, sessionID } = await startSession({ rules: old, wire: { delayMs } })
  server.promptElsewhere(sessionID, 'desk.')
  await advance(60)
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' })
  await advance(20)
  server.promptElsewhere(sessionID, '')
  await advance(60_000)
  expect([textOf(await two.result), two.joined]).toEqual(['Answer to prompt 2.', false])
  await opencode.close()
})

test('a prompt that the server stores at the end of a run, and never runs, is posted again, and its observers go on', async () => {
  const { clock, advance, server, opencode, sessionID } = await startSession({ rules: old })
  const { calls, observe } = observing()
  server.promptElsewhere(sessionID, 'desk.')
  const two = opencode.prompt(
    { sessionID, text: 'prompt 2.' },
    { observe, onPosting: until(clock, clock.now() + endsAtMs) },
  )
  await advance(10_000)
  const reply = await two.result
  expect([textOf(reply), reply.promptIDs.length, two.joined]).toEqual(['Answer to prompt 2.', 1, false])
  expect([server.prompts, server.repeated]).toEqual([['prompt 1.', 'desk.', 'prompt 2.'], ['prompt 2.']])
  expect(calls.map(({ ends }) => ends)).toEqual([['Answer to prompt 2.']])
  await opencode.close()
})

test('a caller that returned no observers for the run that its prompt joined is asked again for its own', async () => {
  const { clock, advance, server, opencode, sessionID } = await startSession({ rules: old })
  const { calls, observe } = observing()
  let two: ReplyStream | undefined
  server.promptElsewhere(sessionID, 'desk.')
  two = opencode.prompt(
    { sessionID, text: 'prompt 2.' },
    {
      observe: () => (two?.joined ? [] : observe()),
      onPosting: until(clock, clock.now() + endsAtMs),
    },
  )
  await advance(10_000)
  expect(textOf(await two.result)).toBe('Answer to prompt 2.')
  expect(calls.map(({ ends }) => ends)).toEqual([['Answer to prompt 2.']])
  await opencode.close()
})

test('two prompts that the server stores at the end of a run are answered in their order, once each', async () => {
  const { clock, advance, server, opencode, sessionID } = await startSession({ rules: old })
  server.promptElsewhere(sessionID, 'desk.')
  const onPosting = until(clock, clock.now() + endsAtMs)
  const streams = ['prompt 2.', 'prompt 3.'].map((text) => opencode.prompt({ sessionID, text }, { onPosting }))
  await advance(20_000)
  const replies = await Promise.all(streams.map(({ result }) => result))
  expect(replies.map(textOf)).toEqual(['Answer to prompt 2. prompt 3.', 'Answer to prompt 2. prompt 3.'])
  expect(server.prompts).toEqual(['prompt 1.', 'desk.', 'prompt 2.', 'prompt 3.'])
  expect(server.repeated).toEqual(['prompt 2.'])
  await opencode.close()
})

test('a prompt that the server stores while a step begins, and never runs, fails without the answer to another', async () => {
  const { clock, advance, server, opencode, sessionID } = await startSession({ rules: old })
  const { calls, observe } = observing()
  server.promptElsewhere(sessionID, 'desk.')
  const onPosting = until(clock, clock.now() + readsAtMs + 10)
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' }, { observe, onPosting })
  await advance(20_000)
  expect([...server.dead]).toEqual(['prompt 2.'])
  const reply = await two.result
  expect([reply.outcome, reply.error?.name, textOf(reply)]).toEqual(['failed', 'refused', ''])
  expect(calls.map(({ ends }) => ends)).toEqual([['']])
  await opencode.close()
})

test('a prompt that joined a run that is stopped at the desk before its first step is not posted again', async () => {
  const { advance, server, opencode, sessionID } = await startSession()
  server.promptElsewhere(sessionID, 'desk.')
  await advance(stepMs + 5)
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' })
  await advance(10)
  expect([two.joined, two.reply?.promptIDs.length]).toEqual([true, 2])
  server.stopElsewhere(sessionID)
  await advance(120_000)
  const { outcome, messages } = await two.result
  expect([outcome, messages, server.repeated, server.answers.size]).toEqual(['aborted', [], [], 1])
  await opencode.close()
})

test('a prompt that the server never runs fails although another run goes on, which answers the one behind it', async () => {
  let isSlow = false
  const { clock, advance, server, opencode, sessionID } = await startSession({
    rules: old,
    stepsTake: () => (isSlow ? 600_000 : stepMs),
  })
  server.promptElsewhere(sessionID, 'desk.')
  const start = clock.now()
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' }, { onPosting: until(clock, start + readsAtMs + 10) })
  const three = opencode.prompt({ sessionID, text: 'prompt 3.' }, { onPosting: until(clock, start + endsAtMs) })
  await advance(endsAtMs + 3 * stepMs)
  expect([...server.dead]).toEqual(['prompt 2.'])
  server.promptElsewhere(sessionID, 'desk again.')
  await advance(2 * stepMs)
  isSlow = true
  await advance(10_000)
  expect(await two.result).toMatchObject({ outcome: 'failed', messages: [] })
  expect(three.reply?.phase).toBe('working')
  isSlow = false
  await advance(3_000_000)
  expect(textOf(await three.result)).toBe('Answer to prompt 2. prompt 3. desk again.')
  await opencode.close()
})

test('a prompt that waits for what becomes of the one before it can be stopped', async () => {
  let isDown = false
  const breaks = (path: string): boolean => isDown && path.endsWith('/message')
  const { clock, advance, server, opencode, sessionID } = await startSession({ rules: old, wire: { breaks } })
  server.promptElsewhere(sessionID, 'desk.')
  const onPosting = until(clock, clock.now() + endsAtMs)
  const streams = ['prompt 2.', 'prompt 3.'].map((text) => opencode.prompt({ sessionID, text }, { onPosting }))
  await advance(endsAtMs + 3 * stepMs)
  isDown = true
  void streams[1]?.abort()
  await advance(1000)
  expect(streams.map(({ reply }) => reply?.outcome)).toEqual([undefined, 'aborted'])
  isDown = false
  await advance(60_000)
  await opencode.close()
})

test.each([
  [3, 'completed', 'Answer to prompt 2.'],
  [40, 'completed', 'Answer to prompt 2.'],
  [Number.POSITIVE_INFINITY, 'failed', ''],
])('%d failed reads show no answer to another prompt', async (failures, outcome, text) => {
  let left = 0
  const breaks = (path: string): boolean => path.endsWith('/message') && left-- > 0
  const { clock, advance, server, opencode, sessionID } = await startSession({ rules: old, wire: { breaks } })
  server.promptElsewhere(sessionID, 'desk.')
  const whenEnding = until(clock, clock.now() + endsAtMs)
  const onPosting = async (): Promise<void> => {
    await whenEnding()
    left = failures
  }
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' }, { onPosting })
  await advance(400_000)
  const reply = await two.result
  expect([reply.outcome, textOf(reply)]).toEqual([outcome, text])
  await opencode.close()
})

test('a prompt of another client that can’t be read is not taken for the own one', async () => {
  let isDown = false
  const breaks = (path: string): boolean => isDown && /\/message\/\w+$/.test(path)
  const delayMs = (what: string, _: unknown, path: string): number =>
    what === 'request' && path.endsWith('/prompt_async') ? 300 : 1
  const { advance, server, opencode, sessionID } = await startSession({ rules: old, wire: { breaks, delayMs } })
  server.promptElsewhere(sessionID, 'desk.')
  await advance(60)
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' })
  await advance(20)
  isDown = true
  server.promptElsewhere(sessionID, 'desk again.')
  await advance(200)
  expect(two.joined).toBe(undefined)
  isDown = false
  await advance(60_000)
  expect([textOf(await two.result), server.prompts.at(-1)]).toEqual(['Answer to prompt 2.', 'prompt 2.'])
  await opencode.close()
})

test('a prompt that the server has is found after an outage of two minutes', async () => {
  let isDown = false
  const breaks = (): boolean => isDown
  const delayMs = (what: string, _: unknown, path: string): number =>
    what === 'request' && path.endsWith('/prompt_async') ? 500 : 1
  const { advance, server, opencode, cut, sessionID } = await startSession({ wire: { breaks, delayMs } })
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' })
  await advance(100)
  server.promptElsewhere(sessionID, 'desk.')
  await advance(300)
  isDown = true
  cut()
  await advance(120_000)
  expect(two.reply?.phase).toBe('waiting')
  isDown = false
  await advance(60_000)
  expect(textOf(await two.result)).toBe('Answer to prompt 2.')
  await opencode.close()
})

// OpenCode 1.18.34 reports no busy before the first step, and an idle for the stop.
test.each([
  ['it is busy', false, stepMs / 2],
  ['its first step', false, stepMs * 1.5],
  ['it is busy, and the connection breaks then,', true, stepMs / 2],
])('a prompt that the desk stops before %s ends as aborted, and is not posted again', async (_, isCut, afterMs) => {
  const { advance, server, opencode, cut, sessionID } = await startSession()
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' })
  await advance(5 + afterMs)
  expect([two.reply?.promptIDs.length, two.reply?.messages.length]).toEqual([1, 0])
  server.stopElsewhere(sessionID)
  await advance(5)
  if (isCut) cut()
  await advance(10_000)
  expect(two.reply?.outcome).toBe('aborted')
  await advance(120_000)
  expect([server.repeated, server.answers.size]).toEqual([[], 1])
  await opencode.close()
})

test('a run that begins after a stop that came too early is not taken for aborted, also if its prompt is shown late', async () => {
  let takesMs = stepMs
  let isLate = false
  const delayMs = (what: string, _: unknown, path: string): number =>
    isLate && what === 'request' && path.endsWith('/prompt_async') ? 4000 : 1
  const { advance, server, opencode, sessionID } = await startSession({ wire: { delayMs }, stepsTake: () => takesMs })
  isLate = true
  takesMs = 3800
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' })
  await advance(4400)
  expect(two.reply?.promptIDs.length).toBe(1)
  server.stopTooEarly(sessionID)
  await advance(3200)
  expect(two.reply?.phase).toBe('waiting')
  await advance(60_000)
  expect(textOf(await two.result)).toBe('Answer to prompt 2.')
  await opencode.close()
})

test('a prompt that joined a run whose request the desk rejects is answered by a run of its own', async () => {
  const { advance, server, opencode, sessionID } = await startSession()
  server.promptElsewhere(sessionID, 'desk.')
  await advance(4 * stepMs)
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' })
  await advance(10)
  expect([two.joined, two.reply?.promptIDs.length, two.reply?.messages.length]).toEqual([true, 2, 1])
  server.rejectElsewhere(sessionID)
  await advance(30_000)
  expect([textOf(await two.result), server.repeated]).toEqual(['Answer to prompt 2.', ['prompt 2.']])
  await opencode.close()
})
