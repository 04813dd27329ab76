import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { type Reply, textOf } from '../../src/index.ts'
import { createSharedServer } from './shared-server.ts'
import { playTakeovers } from './takeovers.ts'

/** Waits until nothing moves any more. */
async function rest(): Promise<void> {
  for (let calm = 0; calm < 3; calm++) await new Promise<void>((resolve) => setImmediate(resolve))
}

test('a late read of the runs of another process gives none of their answers to the next prompt', async () => {
  const clock = createHandClock()
  const advance = async (durationMs: number): Promise<void> => await clock.advance(durationMs, rest)
  let lateReadsOf = ''
  let reads = 0
  const delayMs = (what: string, _: unknown, path: string): number =>
    what === 'response' && path === lateReadsOf && ++reads === 2 ? 150 : 1
  const server = createSharedServer(clock, { mayPrompt: () => true, delayMs }, () => 5)
  const [first, second] = [server.connect(), server.connect()]
  const one = first.opencode.prompt({ text: 'prompt 1.' })
  await advance(1000)
  const { sessionID } = await one.result
  // The stream of the first process breaks. Then it no longer follows the session, and drops its events.
  first.cut()
  await advance(2000)
  const two = second.opencode.prompt({ sessionID, text: 'prompt 2.' })
  await advance(1000)
  expect(textOf(await two.result)).toBe('Answer to prompt 2.')
  server.sendNoise(600)
  await advance(10)
  // It reads the session twice: before the post, and because it had dropped events. The second read arrives after the post.
  lateReadsOf = `/session/${sessionID}/message`
  const onPosting = async (): Promise<void> => await new Promise((resolve) => void clock.after(100, resolve))
  const three = first.opencode.prompt({ sessionID, text: 'prompt 3.' }, { onPosting })
  await advance(5000)
  expect([reads, textOf(await three.result)]).toEqual([2, 'Answer to prompt 3.'])
  for (const { opencode } of [first, second]) await opencode.close()
})

test('a prompt that another client overtakes shows nothing of its run, and then its own answer', async () => {
  const clock = createHandClock()
  const advance = async (durationMs: number): Promise<void> => await clock.advance(durationMs, rest)
  const delayMs = (what: string, _: unknown, path: string): number =>
    what === 'request' && path.endsWith('/prompt_async') ? 500 : 1
  const server = createSharedServer(clock, { mayPrompt: () => true, delayMs }, () => 5)
  const { opencode } = server.connect()
  const one = opencode.prompt({ text: 'prompt 1.' })
  await advance(2000)
  const { sessionID } = await one.result
  const seen: string[] = []
  const observe = () => [{ partAdded: ({ reply }: { reply: Reply }) => void seen.push(textOf(reply)) }]
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' }, { observe })
  await advance(100)
  expect(two.reply?.phase).toBe('waiting')
  server.promptElsewhere(sessionID, 'desk.')
  await advance(300)
  expect([server.answers.size, two.reply?.phase]).toEqual([2, 'waiting'])
  await advance(2000)
  const reply = await two.result
  expect([textOf(reply), reply.prompt?.text, two.joined]).toEqual(['Answer to prompt 2.', 'prompt 2.', false])
  expect(seen.filter((text) => text.includes('desk'))).toEqual([])
  await opencode.close()
})

test('a prompt that the server stores at the end of a run, and never runs, is posted again', async () => {
  const clock = createHandClock()
  const advance = async (durationMs: number): Promise<void> => await clock.advance(durationMs, rest)
  const rules = { version: '1.1.65', losesLatePrompts: true }
  const server = createSharedServer(clock, { mayPrompt: () => true, delayMs: () => 1 }, () => 20, rules)
  const { opencode } = server.connect()
  const one = opencode.prompt({ text: 'prompt 1.' })
  await advance(2000)
  const { sessionID } = await one.result
  server.promptElsewhere(sessionID, 'desk.')
  // The run has seven steps of 20 ms after the first 20 ms. The last one ends it.
  const endingAt = clock.now() + 20 + 6 * 20
  const onPosting = async (): Promise<void> =>
    await new Promise((resolve) => void clock.after(endingAt + 5 - clock.now(), resolve))
  const two = opencode.prompt({ sessionID, text: 'prompt 2.' }, { onPosting })
  await advance(10_000)
  const reply = await two.result
  expect([textOf(reply), reply.promptIDs.length, two.joined]).toEqual(['Answer to prompt 2.', 1, false])
  expect(server.prompts).toEqual(['prompt 1.', 'desk.', 'prompt 2.'])
  await opencode.close()
})

// In the first ones, a reply showed the answer of the prompt before. In the others, the stream lost the run that a prompt began
// after it was posted into the run before.
test.each([58, 114, 166, 170, 180, 201, 2278, 3127])(
  'each prompt gets its own answer, whatever stops its process: %i',
  async (seed) => {
    expect(await playTakeovers(seed)).toEqual([])
  },
)

// Each of these shows an answer of the desk if a stream stays with a reply that turns out to be the desk's run.
test.each([
  [20001, false],
  [20005, false],
  [20008, false],
  [20009, false],
  [20011, false],
  [20001, true],
  [20004, true],
  [20008, true],
  [20009, true],
])(
  'each prompt gets its own answer while a client at the desk prompts, too: %i (old server: %s)',
  async (seed, isOld) => {
    expect(await playTakeovers(seed, { hasDesk: true, isOld })).toEqual([])
  },
)
