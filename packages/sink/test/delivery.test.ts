import { textOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { asks, call, replyWith, settledWith, text } from './make.ts'
import { createScene, playTimeline, type Scene } from './scene.ts'
import { beginning, recordingsOf, timelinesOf } from './timeline.ts'

const growing = (said: string) => replyWith([{ ...text(said, { status: 'open' }), id: 'prt_a' }])
const whole = (said: string, afterMs?: number) => settledWith([{ ...text(said), id: 'prt_a' }], {}, afterMs)
const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)
const callsOf = ({ fake }: Scene, verb: string) =>
  fake.calls.filter((one) => one.verb === verb).map(({ at }) => at - beginning)

async function playing(name: string): Promise<Awaited<ReturnType<typeof timelinesOf>>[number]> {
  const recording = recordingsOf('1.18.33').find(({ scenario }) => scenario === name)
  const [timeline] = recording ? await timelinesOf(recording) : []
  return timeline ?? expect.fail(`There is no recording ${name}.`)
}

describe('delivery', () => {
  test('native: previews, and posts the previewed text before any other message', async () => {
    const scene = createScene({ sink: { policy: { delivery: 'native' } } })
    scene.show(growing('It begins'))
    await scene.pass(1500)
    expect(scene.fake.preview()).toMatch(/^It begins/)
    expect(textsOf(scene)).toEqual([])
    scene.show(replyWith([{ ...text('It begins.'), id: 'prt_a' }], { phase: 'blocked', asks: [asks()] }))
    await scene.pass(3000)
    expect(textsOf(scene)[0]).toBe('It begins.')
    expect(textsOf(scene)[1]).toMatch(/^❓/)
    expect(scene.fake.preview()).toBeUndefined()
  })

  test('native: renews the preview, and posts the end', async () => {
    const scene = createScene({ sink: { policy: { delivery: 'native', statusTickMs: 3_600_000 } } })
    scene.show(growing('It begins'))
    await scene.pass(100_000)
    expect(scene.fake.preview()).toMatch(/^It begins/)
    scene.show(whole('It begins, and ends.', 100_000))
    await scene.end()
    expect(textsOf(scene)).toEqual(['It begins, and ends.'])
    expect(scene.fake.notifications).toBe(1)
  })

  test('append: posts new text a second apart, and never twice', async () => {
    const scene = createScene({ sink: { policy: { delivery: 'append', verbosity: 'quiet' } } })
    const said = 'One two three. Four five six. Seven eight nine.'
    for (let letters = 4; letters <= said.length; letters += 4) {
      scene.show(growing(said.slice(0, letters)))
      await scene.pass(250)
    }
    scene.show(whole(said))
    await scene.end()
    const posts = callsOf(scene, 'post')
    expect(posts.length).toBeGreaterThan(2)
    expect(posts.slice(1).every((at, index) => at - (posts[index] ?? 0) >= 1000 || index === posts.length - 2)).toBe(
      true,
    )
    expect(textsOf(scene).join(' ').replace(/\s+/g, '')).toBe(said.replace(/\s+/g, ''))
    expect(callsOf(scene, 'edit')).toEqual([])
  })

  test('append: code that continues in the next message has its fence reopened there', async () => {
    const scene = createScene({ sink: { policy: { delivery: 'append', verbosity: 'quiet' } } })
    scene.show(growing('Look:\n\n```ts\nconst a = 1\nconst b'))
    await scene.pass(3000)
    scene.show(whole('Look:\n\n```ts\nconst a = 1\nconst b = 2\n```\n\nDone.'))
    await scene.end()
    expect(textsOf(scene)).toEqual(['Look:\n\n```ts\nconst a = 1\n```', '```ts\nconst b = 2\n```\n\nDone.'])
  })

  test('append: a message has at most 3,500 units', async () => {
    const scene = createScene({
      fake: { limits: { maxLength: 10_000 } },
      sink: { policy: { delivery: 'append', verbosity: 'quiet' } },
    })
    scene.show(whole('word '.repeat(2000)))
    await scene.end()
    expect(textsOf(scene).map(({ length }) => length <= 3500)).toEqual([true, true, true])
  })

  test('a million letters are shown, in order and soon', async () => {
    const scene = createScene({ fake: { limits: { maxLength: 4000 } } })
    const said = Array.from({ length: 20_000 }, (_, index) => `Sentence ${index} is here, with some words.`).join(' ')
    scene.show(whole(said))
    expect(await scene.end()).toMatchObject({ undelivered: [], doubtful: 0 })
    expect(textsOf(scene).join(' ') === said).toBe(true)
  })

  test('final: posts the answer when it is complete', async () => {
    const scene = createScene({ sink: { policy: { delivery: 'final', verbosity: 'quiet' } } })
    scene.show(growing('It'))
    await scene.pass(10_000)
    expect(textsOf(scene)).toEqual([])
    scene.show(whole('It is done.'))
    await scene.end()
    expect(textsOf(scene)).toEqual(['It is done.'])
    expect(scene.fake.notifications).toBe(1)
  })

  test('without edits: posts complete parts, notices and a heartbeat', async () => {
    const scene = createScene({ fake: { limits: { edits: false }, lacks: ['edit', 'remove', 'stream'] } })
    const said = text('I look.')
    const bash = call('bash', { title: 'npm test' })
    scene.show(replyWith([said, bash, text('It', { status: 'open' })]))
    await scene.pass(70_000)
    expect(textsOf(scene)).toEqual(['I look.', '🔧 bash: npm test', expect.stringMatching(/^Still working/)])
  })
})

describe('a recording ends up as it was', () => {
  test.each([
    'plain',
    'tools-todos',
    'questions-multi',
    'subagent',
    'compaction-auto',
    'retry-429',
    'unicode',
    'long-markdown',
  ])('%s', async (name) => {
    const scene = createScene({ fake: { limits: { maxLength: 4000 } } })
    const timeline = await playing(name)
    const delivery = await playTimeline(scene, timeline)
    expect(delivery).toMatchObject({ undelivered: [], doubtful: 0, rateLimited: 0 })
    expect(scene.errors).toEqual([])
    const [said, due] = [textsOf(scene).join('\n'), textOf(timeline.states.at(-1)?.reply ?? expect.fail())]
    for (const line of due.split('\n').filter(({ length }) => length > 12)) {
      expect([line, said.split(line).length]).toEqual([line, due.split(line).length])
    }
  })
})

test('a host whose onError throws still gets its answer', async () => {
  const onError = (): never => {
    throw new Error('of the host')
  }
  const scene = createScene({ fake: { faults: [{ call: 1, type: 'unreachable' }] }, sink: { onError } })
  scene.show(settledWith([text('It is there.')]))
  expect(await scene.end()).toMatchObject({ shown: 1, undelivered: [] })
})
