import { expect, test } from 'vitest'
import type { ChannelPort } from '../src/port/port.ts'
import type { FakeFault } from '../src/testing/fake-options.ts'
import { asks, call, questionOf, replyWith, settledWith, text, viewOf } from './make.ts'
import { createScene, type Scene } from './scene.ts'

const tool = (status: 'running' | 'completed') => ({ ...call('bash', { status, title: 'npm test' }), id: 'prt_t' })
const said = (words: string) => ({ ...text(words, { status: 'open' as const }), id: 'prt_a' })
const growing = (words: string) => replyWith([said(words)])
const whole = (words: string) => settledWith([{ ...text(words), id: 'prt_a' }])
const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)
const verbsOf = ({ fake }: Scene) => fake.calls.filter(({ verb }) => verb !== 'typing').map((one) => one.verb)

function stream(faults: readonly FakeFault[] = []): Scene {
  return createScene({
    fake: { stream: 'append', faults },
    sink: { policy: { delivery: 'native', statusAfterMs: 600_000 } },
  })
}

async function grow(scene: Scene, ...texts: readonly string[]): Promise<void> {
  for (const words of texts) {
    scene.show(growing(words))
    await scene.pass(1300)
  }
}

test('a text is appended to one message, and closed at its end', async () => {
  const scene = stream()
  await grow(scene, 'It', 'It begins, **and', 'It begins, **and goes on**')
  expect(textsOf(scene)).toEqual(['It begins, **and goes on**'])
  scene.show(whole('It begins, **and goes on**.'))
  expect(await scene.end()).toMatchObject({ shown: 1, undelivered: [], doubtful: 0 })
  expect(verbsOf(scene)).toEqual(['open', 'append', 'append', 'close'])
  expect(scene.fake.screen()).toMatchObject([{ text: 'It begins, **and goes on**.', openUntil: undefined }])
})

test('tools are sent as tasks, each status once, and no status stands below', async () => {
  const scene = stream()
  scene.show(replyWith([said('I test.')]))
  await scene.pass(1200)
  scene.show(replyWith([said('I test.'), tool('running')]))
  await scene.pass(1200)
  expect(scene.fake.screen()).toMatchObject([{ tasks: [{ title: 'bash: npm test', status: 'running' }] }])
  scene.show(replyWith([said('I test.'), tool('completed')]))
  await scene.pass(30_000)
  expect(scene.fake.screen()).toMatchObject([{ text: 'I test.', tasks: [{ id: 'prt_t', status: 'done' }] }])
  expect(verbsOf(scene)).toEqual(['open', 'append', 'append'])
})

test('a task that failed or was rejected says why', () => {
  const reasonsOf = (...parts: Parameters<typeof replyWith>[0]) =>
    viewOf(replyWith(parts), { isStreaming: true }).flow.tasks.map(({ status, reason }) => [status, reason])
  const rejected = 'The user rejected permission to use this specific tool call with the following feedback: Not now'
  const failed = (error: string) => call('bash', { status: 'error', error })
  expect(
    reasonsOf(failed('exit 1\nat line 2'), failed(rejected), failed('Tool execution aborted'), tool('running')),
  ).toEqual([
    ['failed', 'failed: exit 1 at line 2'],
    ['failed', 'rejected: Not now'],
    ['failed', undefined],
    ['running', undefined],
  ])
})

test('the checklist is sent as its progress', () => {
  const todos = ['completed', 'in_progress', 'pending'].map((status) => ({ content: `Do ${status}`, status }))
  const reply = replyWith([said('I plan.'), call('todowrite')], { todos })
  const { flow, cards } = viewOf(reply, { isStreaming: true })
  expect([flow, cards.some(({ type }) => type === 'todos')]).toEqual([
    { tasks: [], plan: 'To do 1/3: Do in_progress' },
    false,
  ])
  expect(viewOf(reply, { isStreaming: true, policy: { verbosity: 'quiet' } }).flow).toEqual({ tasks: [] })
  expect(viewOf(reply).flow).toEqual({ tasks: [] })
})

test('a stream open for four minutes is closed, and another message goes on', async () => {
  const scene = stream()
  await grow(scene, 'It begins,')
  await scene.pass(239_000)
  expect(verbsOf(scene)).toEqual(['open', 'close'])
  await grow(scene, 'It begins, and goes on', 'It begins, and goes on.')
  scene.show(whole('It begins, and goes on. It ends.'))
  await scene.end()
  expect(textsOf(scene)).toEqual(['It begins,', 'and goes on. It ends.'])
})

test('a stream that the platform closed is edited to the full text, and another message goes on', async () => {
  const scene = stream([{ call: 2, type: 'fixed' }])
  await grow(scene, 'It begins', 'It begins, and goes on', 'It begins, and goes on. More comes.')
  scene.show(whole('It begins, and goes on. More comes. It ends.'))
  expect(await scene.end()).toMatchObject({ undelivered: [], doubtful: 0 })
  expect(textsOf(scene)).toEqual(['It begins, and goes on', '. More comes. It ends.'])
})

test.each(['ambiguous', 'done'] as const)('an unconfirmed addition (%s) is there once', async (type) => {
  const scene = stream([{ call: 2, type }])
  await grow(scene, 'It begins', 'It begins, and goes on', 'It begins, and goes on. More.')
  scene.show(whole('It begins, and goes on. More.'))
  expect(await scene.end()).toMatchObject({ undelivered: [], doubtful: 0 })
  expect(textsOf(scene)).toEqual(['It begins, and goes on. More.'])
})

test('a text that changed is closed and edited', async () => {
  const scene = stream()
  await grow(scene, 'It was so.', 'It is so.')
  await scene.pass(3000)
  expect([textsOf(scene), verbsOf(scene)]).toEqual([['It is so.'], ['open', 'close', 'edit']])
})

test('a long text takes several streams, each closed before the next', async () => {
  const scene = stream()
  const words = Array.from({ length: 60 }, (_, index) => `Sentence ${index}.`).join(' ')
  for (let length = 40; length < words.length; length += 40) await grow(scene, words.slice(0, length))
  scene.show(whole(words))
  expect(await scene.end()).toMatchObject({ undelivered: [], doubtful: 0, rateLimited: 0 })
  expect(textsOf(scene).join(' ')).toBe(words)
  expect(scene.fake.screen().filter(({ openUntil }) => openUntil !== undefined)).toEqual([])
})

test('a question closes the text before it', async () => {
  const scene = stream()
  await grow(scene, 'Which one?')
  scene.show(replyWith([said('Which one?')], { phase: 'blocked', asks: [asks([questionOf()])] }))
  await scene.pass(5000)
  expect(scene.fake.screen()).toMatchObject([{ openUntil: undefined }, { text: expect.stringContaining('Colour') }])
})

test('after a crash the stream is closed, and shows all of it', async () => {
  const scene = stream()
  await grow(scene, 'It begins', 'It begins, and')
  scene.restart()
  scene.show(whole('It begins, and ends.'))
  expect(await scene.end()).toMatchObject({ undelivered: [], doubtful: 0 })
  expect(textsOf(scene)).toEqual(['It begins, and ends.'])
})

test('a text whose stream may not have opened is edited, so it has closed marks and the status below', async () => {
  const faults = [{ call: 1, type: 'ambiguous' }] as const
  const scene = createScene({ fake: { stream: 'append', faults }, sink: { policy: { delivery: 'native' } } })
  await grow(scene, 'It begins, **and', 'It begins, **and goes on')
  scene.show(replyWith([said('It begins, **and goes on'), tool('running')]))
  await scene.pass(5000)
  expect(textsOf(scene)).toEqual([expect.stringMatching(/^It begins, \*\*and goes on\*\*\n\n.*bash: npm test/)])
})

test('if the port turns out to have no stream, the text is edited', async () => {
  const { fake, clock } = createScene({ fake: { stream: 'append' } })
  let isThere = true
  const port: ChannelPort = {
    ...fake.port,
    get stream() {
      return isThere ? fake.port.stream : undefined
    },
  }
  const scene = createScene({ clock, sink: { port, policy: { delivery: 'native', verbosity: 'quiet' } } })
  await grow(scene, 'It begins')
  isThere = false
  // The platform closes the open stream by itself within that time.
  await clock.advance(300_000)
  await grow(scene, 'It begins, and goes on.')
  expect(fake.screen().map((message) => message.text)).toEqual(['It begins, and goes on.'])
  expect(fake.calls.filter(({ verb }) => verb !== 'typing').map(({ verb }) => verb)).toEqual(['open', 'edit', 'edit'])
})
