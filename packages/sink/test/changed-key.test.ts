import { describe, expect, test } from 'vitest'
import { permits, replyWith, settledWith, text } from './make.ts'
import { createScene, ledgerOf, type Scene } from './scene.ts'
import { beginning } from './timeline.ts'

const keyOf = (promptID: string | number): string => `chat/ses_1/${promptID}`
const shown = ({ fake }: Scene) => fake.screen().map((message) => message.text)
const posts = ({ fake }: Scene): number => fake.calls.filter(({ verb }) => verb === 'post').length

/** A text that has the same part in each process. */
const said = (id: string, words: string) => text(words, { id })
const unnamed = { promptIDs: [], startedAt: beginning + 1000 }

describe('a reply whose prompt becomes known', () => {
  test('goes on with what an earlier process posted under it', async () => {
    const scene = createScene({ sink: { policy: { statusAfterMs: 0 } } })
    scene.show(replyWith([said('a', 'The answer begins,')]))
    await scene.pass(5000)
    scene.restart()
    scene.show(replyWith([], unnamed))
    await scene.pass(10_000)
    // A status of this process.
    expect(shown(scene)).toHaveLength(2)
    scene.show(replyWith([said('a', 'The answer begins,')], { promptIDs: ['msg_1'] }))
    await scene.pass(10_000)
    scene.show(settledWith([said('a', 'The answer begins, and ends.')]))
    const delivery = await scene.end()
    expect(shown(scene)).toEqual(['The answer begins, and ends.'])
    expect(delivery).toMatchObject({ shown: 1, doubtful: 0, undelivered: [] })
  })

  test('replaces the ledger from before that in the same write', async () => {
    const formers: (string | undefined)[] = []
    const store = new Map<string, string>()
    const scene = createScene({
      sink: {
        policy: { statusAfterMs: 0 },
        store: {
          read: async (key) => store.get(key),
          write: async (key, words, former) => {
            store.set(key, words)
            if (former !== undefined) formers.push(former)
          },
        },
      },
    })
    scene.show(replyWith([], unnamed))
    await scene.pass(10_000)
    scene.show(settledWith([said('a', 'All of it.')]))
    await scene.end()
    expect([shown(scene), formers]).toEqual([['All of it.'], [keyOf(unnamed.startedAt)]])
  })

  test('has its ledger under that prompt at once, also while nothing else is to be shown', async () => {
    const asking = { asks: [permits()] }
    const scene = createScene({ sink: { policy: { statusAfterMs: 600_000 } } })
    scene.show(replyWith([], { ...asking, ...unnamed }))
    await scene.pass(5000)
    scene.show(replyWith([], asking))
    await scene.pass(5000)
    scene.restart()
    scene.show(replyWith([], asking))
    await scene.pass(5000)
    expect(posts(scene)).toBe(1)
  })

  test('counts a request as doubtful that both processes posted', async () => {
    const asking = { asks: [permits()] }
    const scene = createScene({ sink: { policy: { statusAfterMs: 600_000 } } })
    scene.show(replyWith([], asking))
    await scene.pass(5000)
    scene.restart()
    scene.show(replyWith([], { ...asking, ...unnamed }))
    await scene.pass(5000)
    expect(posts(scene)).toBe(2)
    scene.show(replyWith([], asking))
    await scene.pass(5000)
    scene.show(settledWith([said('a', 'Done.')], { asks: [permits({ status: 'answered', reply: 'once' })] }))
    expect(await scene.end()).toMatchObject({ shown: 3, doubtful: 1, undelivered: [] })
    expect(posts(scene)).toBe(3)
  })
})

describe('a reply that seemed to begin with an earlier prompt', () => {
  /** A first run in the chat, and the beginning of a second one. */
  async function twoRuns(): Promise<Scene> {
    const scene = createScene({ sink: { policy: { statusAfterMs: 600_000 } } })
    scene.show(settledWith([said('a', 'The first answer.')]))
    await scene.end()
    scene.show(replyWith([said('b', 'The second answer begins,')], { promptIDs: ['msg_3'] }), 'replyStarted')
    await scene.pass(5000)
    expect(shown(scene)).toEqual(['The first answer.', 'The second answer begins,'])
    scene.restart()
    return scene
  }

  test('goes on with its own messages, and leaves those of the earlier run', async () => {
    const scene = await twoRuns()
    const both = [said('a', 'The first answer.'), said('b', 'The second answer begins,')]
    scene.show(replyWith(both.slice(0, 1), { promptIDs: ['msg_1', 'msg_3'] }))
    await scene.pass(5000)
    scene.show(replyWith(both.slice(1), { promptIDs: ['msg_3'] }))
    await scene.pass(5000)
    scene.show(settledWith([said('b', 'The second answer begins, and ends.')], { promptIDs: ['msg_3'] }))
    const delivery = await scene.end()
    expect(shown(scene)).toEqual(['The first answer.', 'The second answer begins, and ends.'])
    expect(delivery).toMatchObject({ shown: 1, doubtful: 0, undelivered: [] })
    const [first, second] = [await ledgerOf(scene, keyOf('msg_1')), await ledgerOf(scene, keyOf('msg_3'))]
    expect([first, second].map(({ entries }) => entries.length)).toEqual([1, 1])
    // The calls that each run took: the first was posted, and the second posted and edited.
    expect([first.calls, second.calls]).toEqual([1, 2])
  })

  test('counts a message as doubtful that it edited under the wrong prompt', async () => {
    const scene = await twoRuns()
    const both = [said('a', 'The first answer.'), said('b', 'The second answer begins, and')]
    scene.show(replyWith(both, { promptIDs: ['msg_1', 'msg_3'] }))
    await scene.pass(5000)
    expect(shown(scene)[0]).toBe('The first answer.\n\nThe second answer begins, and')
    scene.show(settledWith([said('b', 'The second answer begins, and ends.')], { promptIDs: ['msg_3'] }))
    expect(await scene.end()).toMatchObject({ shown: 1, doubtful: 1 })
    expect(shown(scene)[1]).toBe('The second answer begins, and ends.')
    // The next process that shows the first run takes the other text out of it.
    scene.restart()
    scene.show(settledWith([said('a', 'The first answer.')]))
    await scene.end()
    expect(shown(scene)).toEqual(['The first answer.', 'The second answer begins, and ends.'])
  })

  test('takes what it posted under the wrong prompt, if nothing else was posted', async () => {
    const scene = createScene({ sink: { policy: { statusAfterMs: 600_000 } } })
    scene.show(settledWith([said('a', 'The first answer.')]))
    await scene.end()
    scene.restart()
    const asking = { asks: [permits()] }
    scene.show(replyWith([said('a', 'The first answer.')], { promptIDs: ['msg_1', 'msg_3'], ...asking }))
    await scene.pass(5000)
    expect(posts(scene)).toBe(2)
    scene.show(replyWith([], { promptIDs: ['msg_3'], ...asking }))
    await scene.pass(5000)
    expect(posts(scene)).toBe(2)
    const answered = [permits({ status: 'answered', reply: 'once' })]
    scene.show(settledWith([said('b', 'Done.')], { promptIDs: ['msg_3'], asks: answered }))
    expect(await scene.end()).toMatchObject({ shown: 2, doubtful: 0 })
    const entries = async (promptID: string) =>
      (await ledgerOf(scene, keyOf(promptID))).entries.map(({ card }) => card.split(':')[0])
    expect([await entries('msg_1'), await entries('msg_3')]).toEqual([['answer'], ['ask', 'answer@ask']])
  })
})
