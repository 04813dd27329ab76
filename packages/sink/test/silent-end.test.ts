import type { Reply } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { createPacer } from '../src/deliver/pace.ts'
import { layout } from '../src/layout/layout.ts'
import { emptyLedger } from '../src/ledger/ledger.ts'
import { fakeRender } from '../src/testing/fake.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import type { Texts } from '../src/texts.ts'
import { texts as english } from '../src/texts.ts'
import { shownEntry } from './entries.ts'
import {
  asks,
  call,
  questionOf,
  replyWith,
  saidIn,
  settledWith,
  text,
  thought,
  using,
  type Viewing,
  viewOf,
} from './make.ts'
import { createScene, type Scene } from './scene.ts'
import { beginning } from './timeline.ts'

const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)
const open = { ...text('It grew', { status: 'open' }), id: 'prt_a' }
const sealed = { ...text('It grew to here.'), id: 'prt_a' }
const aborted = { outcome: 'aborted', aborting: 'requested' } as const

const none = (): string => ''
const silent: Texts = {
  ...english,
  ...{ thinking: '', working: '', waiting: '', todos: '', cutOff: '', other: '', arrived: '', toolRejected: none },
  ...{ step: none, context: none, retrying: none, heartbeat: none, compacted: none, elapsed: none, todo: none },
  ...{ contextWarning: none, contextUrgent: none, done: none, failed: none, noText: none, replyWith: none },
}

describe('a run that was aborted through this process', () => {
  test('ends without a message, and its text stays', async () => {
    const scene = createScene()
    scene.show(replyWith([open]))
    await scene.pass(1000)
    scene.show(settledWith([sealed], aborted))
    await scene.end()
    expect(textsOf(scene)).toEqual(['It grew to here.'])
    expect(scene.fake.notifications).toBe(0)
  })

  test('does not notify by text that was not posted before', async () => {
    const scene = createScene()
    scene.show(settledWith([sealed], aborted))
    await scene.end()
    expect([textsOf(scene), scene.fake.notifications]).toEqual([['It grew to here.'], 0])
  })

  test('posts nothing if it had no text', () => {
    expect(viewOf(settledWith([thought('Hm.')], aborted)).cards).toEqual([])
  })

  test('is told where the policy wants it, as is one that another client aborted', () => {
    const always = { policy: { abortNotice: 'always' } } as const
    expect(saidIn(viewOf(settledWith([sealed], aborted), always), 'ending')).toEqual(['*Aborted.*'])
    expect(saidIn(viewOf(settledWith([sealed], { outcome: 'aborted' })), 'ending')).toEqual(['*Aborted.*'])
  })

  test('is told below its text where the policy wants it, in the same message', async () => {
    const scene = createScene({ sink: { policy: { abortNotice: 'below' } } })
    scene.show(replyWith([open]))
    await scene.pass(1000)
    scene.show(settledWith([sealed], aborted))
    expect((await scene.end()).saysStopped).toBe(true)
    expect(textsOf(scene)).toEqual([expect.stringMatching(/^It grew to here\.\n\n.*Stopped\./)])
    expect([scene.fake.screen().length, scene.fake.notifications]).toEqual([1, 0])
  })

  test('is not told below its text any more if another message was posted since', async () => {
    const clock = createHandClock(beginning)
    const pacer = createPacer({ clock })
    const scene = createScene({ clock, sink: { pacer, policy: { abortNotice: 'below' } } })
    scene.show(replyWith([open]))
    await scene.pass(1000)
    const other = createScene({ clock, sink: { pacer } })
    other.show(settledWith([text('Another one.')]))
    await other.end()
    scene.show(settledWith([sealed], aborted))
    expect((await scene.end()).saysStopped).toBeUndefined()
    expect(textsOf(scene)).toEqual([expect.stringMatching(/^It grew to here\.\n\n.*Stopped\./)])
  })

  test('is told by the newest of two answers alone if both were stopped', async () => {
    const clock = createHandClock(beginning)
    const sink = { pacer: createPacer({ clock }), policy: { abortNotice: 'below' } } as const
    const [first, second] = [createScene({ clock, sink }), createScene({ clock, sink })]
    for (const scene of [first, second]) {
      scene.show(replyWith([open]))
      await scene.pass(1000)
    }
    for (const scene of [first, second]) scene.show(settledWith([sealed], aborted))
    const ends = [await first.end(), await second.end()]
    expect(ends.map(({ saysStopped }) => saysStopped)).toEqual([undefined, true])
  })

  describe('where texts are streamed', () => {
    const streaming = {
      fake: { stream: 'append' },
      sink: { policy: { abortNotice: 'below', delivery: 'native' } },
    } as const
    const verbsOf = ({ fake }: Scene) => fake.calls.map(({ verb }) => verb).filter((verb) => verb !== 'typing')
    const below = 'It grew to here.\n\n*⏹️ Stopped.*'

    test('is told below a text that was posted whole, also after a restart', async () => {
      const scene = createScene(streaming)
      for (let process = 0; process < 2; process++) {
        scene.show(settledWith([sealed], aborted))
        await scene.end()
        expect([textsOf(scene), verbsOf(scene)]).toEqual([[below], ['post']])
        scene.restart()
      }
    })

    test('is told below a status that became the text', async () => {
      const scene = createScene(streaming)
      scene.show(replyWith([call('bash')]))
      await scene.pass(3000)
      scene.show(settledWith([sealed], aborted))
      expect((await scene.end()).saysStopped).toBe(true)
      expect(textsOf(scene)).toEqual([below])
    })

    test('is not told below a text that was streamed, also after a restart', async () => {
      const scene = createScene(streaming)
      scene.show(replyWith([open]))
      await scene.pass(3000)
      for (let process = 0; process < 2; process++) {
        scene.show(settledWith([sealed], aborted))
        expect((await scene.end()).saysStopped).toBeUndefined()
        expect([textsOf(scene), verbsOf(scene)]).toEqual([['It grew to here.'], ['open', 'close']])
        scene.restart()
      }
    })
  })

  test.each<[string, Viewing]>([
    ['it had no text', {}],
    ['nothing can be edited', { mode: 'sealed' }],
    ['the host has no word for it', { texts: { ...english, stoppedHere: ' ' } }],
  ])('is not told below its text if %s', (why, viewing) => {
    const reply = settledWith(why === 'it had no text' ? [thought('Hm.')] : [sealed], aborted)
    const { cards } = viewOf(reply, { ...viewing, policy: { abortNotice: 'below' } })
    expect(cards.map(({ type }) => type)).toEqual(why === 'it had no text' ? [] : ['answer'])
  })

  test('is told if it was not seen to stop', () => {
    const lost = { ...aborted, outcome: 'lost', lostReason: 'not-stopped' } as const
    expect(saidIn(viewOf(settledWith([sealed], lost)), 'ending')).toHaveLength(1)
  })
})

describe('words that are empty', () => {
  test.each<[string, Reply, Viewing?]>([
    ['a status', replyWith([])],
    ['a status of a retry', replyWith([], { retry: { message: '' } })],
    ['an ending', settledWith([])],
    ['a failure', settledWith([], { outcome: 'failed' })],
    ['a note of the context', settledWith([], using(90_000))],
    ['a note of a compaction', settledWith([], { compaction: { state: 'done', auto: true, startedAt: beginning } })],
    ['the line that notifies', settledWith([call('bash')], {}, 40_000)],
    ['a checklist', settledWith([call('todowrite')], { todos: [{ content: 'Read', status: 'pending' }] })],
    ['a heartbeat', replyWith([]), { mode: 'sealed', atMs: 60_000 }],
  ])('post nothing: %s', (_, reply, viewing) => {
    expect(viewOf(reply, { ...viewing, texts: silent }).cards).toEqual([])
  })

  test('leave no empty marks in a question', () => {
    const ledger = { ...emptyLedger, asks: { que_1: { answers: [], picked: [] } } }
    const reply = replyWith([], { asks: [asks([questionOf({ custom: true, options: [] })])] })
    expect(saidIn(viewOf(reply, { ledger, texts: silent }), 'ask')).toEqual(['❓ **Colour**\n\nWhich one?'])
  })

  test('label nothing', () => {
    const card = {
      type: 'answer',
      key: 'answer',
      source: `${'x'.repeat(900)}\n\n${'y'.repeat(900)}`,
      isOpen: false,
    } as const
    const below = { type: 'note', key: 'context', source: 'Below.' } as const
    const posted = { ...emptyLedger, entries: [shownEntry('context', { type: 'note' })] }
    const render = fakeRender
    const options = {
      render,
      limits: { ...fakeLimits, maxLength: 1000 },
      mode: 'live',
      texts: english,
      ledger: posted,
    } as const
    const second = (texts: Texts) => layout([card, below], { ...options, texts })[1]?.bubble.text
    expect(second(english)).toBe(`*(continued)*\n\n${'y'.repeat(900)}`)
    expect(second({ ...english, continued: ' ' })).toBe('y'.repeat(900))
  })

  test('do not take the text of a message that cannot be removed', async () => {
    const scene = createScene({ fake: { lacks: ['remove'] }, sink: { texts: { removed: '' } } })
    scene.show(replyWith([call('bash')]))
    await scene.pass(3000)
    scene.show(settledWith([], { messages: [] }))
    await scene.end()
    expect(textsOf(scene)).toEqual([english.removed])
  })
})
