import type { Reply } from '@reply/core'
import { describe, expect, test } from 'vitest'
import type { Policy } from '../src/config.ts'
import { asks, call, questionOf, replyWith, settledWith, text, thought } from './make.ts'
import { createScene, type Scene } from './scene.ts'

const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)
const repliesOf = ({ fake }: Scene) => fake.screen().map(({ replyTo }) => replyTo)
const [one, two] = [text('One.'), text('Two.')]
const running = call('bash', { title: 'npm test' })
const colour = questionOf()

/** A text, a call and a question, and more text. */
async function play(scene: Scene): Promise<Scene> {
  scene.show(replyWith([one, running]))
  await scene.pass(10_000)
  const asked = { phase: 'blocked', asks: [asks([colour])] } satisfies Partial<Reply>
  scene.show(replyWith([one, running], asked))
  await scene.pass(10_000)
  const answered = asks([colour], { status: 'answered', answers: [['Red']] })
  const parts = [one, { ...running, state: { ...running.state, status: 'completed' } } as const, thought('Hm.'), two]
  scene.show(settledWith(parts, { asks: [answered] }))
  await scene.end()
  return scene
}

describe('a final answer', () => {
  test.each<[Partial<Policy>, readonly string[]]>([
    [{ verbosity: 'quiet' }, ['❓ Colour']],
    [{ verbosity: 'normal' }, ['🔧 bash: npm test', '❓ Colour']],
    [{ verbosity: 'verbose', reasoning: true }, ['🔧 bash: npm test', '❓ Colour', '> Hm.']],
  ])('is one message below its asks and notices: %o', async (policy, above) => {
    const scene = await play(createScene({ sink: { policy: { delivery: 'final', ...policy } } }))
    const said = textsOf(scene).map((shown) => (shown.startsWith('❓') ? '❓ Colour' : shown))
    expect(said.slice(0, above.length)).toEqual(above)
    expect(said.at(-1)).toBe('One.\n\nTwo.')
    expect(said.filter((shown) => /One|Two/.test(shown))).toHaveLength(1)
  })

  test('stays one message after a restart', async () => {
    const scene = createScene({ sink: { policy: { delivery: 'final' } } })
    await play(scene)
    const before = textsOf(scene)
    scene.restart()
    scene.show(settledWith([one, thought('Hm.'), two]))
    await scene.end()
    expect(textsOf(scene)).toEqual(before)
  })
})

describe('the message that asked', () => {
  const said = ['a', 'b', 'c'].map((letter) => letter.repeat(900)).join('\n\n')
  const limits = { maxLength: 1000 }
  const sink = { replyTo: { id: 'asked' } }

  test.each<[Partial<Policy>, readonly (string | undefined)[]]>([
    [{}, ['asked', undefined, 'asked']],
    [{ repliesToPrompt: 'all' }, ['asked', 'asked', 'asked']],
  ])('is replied to by a final answer: %o', async (policy, replies) => {
    const scene = createScene({ fake: { limits }, sink: { ...sink, policy: { delivery: 'final', ...policy } } })
    scene.show(settledWith([text(said)]))
    await scene.end()
    expect(repliesOf(scene)).toEqual(replies)
  })

  test('is replied to by the last message of an answer that grew', async () => {
    const scene = createScene({ fake: { limits }, sink })
    scene.show(replyWith([text(said.slice(0, 950), { status: 'open', id: 'prt_a' })]))
    await scene.pass(3000)
    scene.show(settledWith([text(said, { id: 'prt_a' })]))
    await scene.end()
    expect(repliesOf(scene).at(-1)).toBe('asked')
  })
})
