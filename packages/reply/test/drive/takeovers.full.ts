import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { textOf } from '../../src/index.ts'
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

// In the first ones, a reply showed the answer of the prompt before. In the others, the stream lost the run that a prompt began
// after it was posted into the run before.
test.each([58, 114, 166, 170, 180, 201, 2278, 3127])(
  'each prompt gets its own answer, whatever stops its process: %i',
  async (seed) => {
    expect(await playTakeovers(seed)).toEqual([])
  },
)

// Each of these showed an answer of the desk, nothing at all, or observers saw no end. In 20007 and 20034, a prompt came between
// the last step of a run and an idle that got lost.
test.each([
  [20007, false],
  [20034, false],
  [20001, false],
  [20005, false],
  [20009, false],
  [20023, false],
  [20033, false],
  [20036, false],
  [20008, true],
  [20011, true],
  [20013, true],
  [20014, true],
  [20023, true],
])(
  'each prompt gets its own answer while a client at the desk prompts, too: %i (old server: %s)',
  async (seed, isOld) => {
    expect(await playTakeovers(seed, { hasDesk: true, isOld })).toEqual([])
  },
)
