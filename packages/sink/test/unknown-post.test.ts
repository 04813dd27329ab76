import { createHandClock } from '@reply/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deliveryOf } from '../src/deliver/delivery.ts'
import { recoveredLedger, withLookUp } from '../src/deliver/transitions.ts'
import { emptyLedger } from '../src/ledger/ledger.ts'
import type { ChannelPort, LookedUp } from '../src/port/port.ts'
import { PortError } from '../src/port/port-error.ts'
import { createFake } from '../src/testing/fake.ts'
import type { FakeFault, FakeOptions } from '../src/testing/fake-options.ts'
import { intentEntry } from './entries.ts'
import { createKilledSinks } from './killed-sinks.ts'
import { asks, replyWith, settledWith, text } from './make.ts'
import { createScene, rest, type Scene } from './scene.ts'
import { beginning } from './timeline.ts'

const answer = settledWith([text('It is done.')])
const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)
const postsIn = ({ fake }: Scene) => fake.posted.length

/** The first call is `first`, and the platform answers none of the next calls. */
const outage = (first: FakeFault['type'], calls: number): readonly FakeFault[] =>
  Array.from({ length: calls }, (_, index) => ({ call: index + 1, type: index === 0 ? first : 'ambiguous' }))

function sceneOf(faults: readonly FakeFault[], fake: Partial<FakeOptions>): Scene {
  return createScene({ fake: { faults, ...fake }, sink: { policy: { statusAfterMs: 3_600_000 } } })
}

describe.each([1, 2, 30])('an outage of %i calls', (calls) => {
  test.each([
    ['probe', 'done', { posts: 2, doubtful: 1 }],
    ['probe', 'ambiguous', { posts: 1, doubtful: 1 }],
    ['exact', 'done', { posts: 1, doubtful: 0 }],
    ['exact', 'ambiguous', { posts: 1, doubtful: 0 }],
  ] as const)('where a look-up is %s and the first post is %s loses nothing', async (lookUp, first, expected) => {
    const scene = sceneOf(outage(first, calls), { lookUp })
    scene.show(answer)
    const { doubtful, undelivered, shown } = await scene.end()
    expect({ posts: postsIn(scene), doubtful }).toEqual(expected)
    expect([undelivered, shown, textsOf(scene).at(-1)]).toEqual([[], 1, 'It is done.'])
  })

  test('where the platform knows keys posts once', async () => {
    const scene = sceneOf(outage('done', calls), { limits: { idempotent: true } })
    scene.show(answer)
    expect(await scene.end()).toMatchObject({ doubtful: 0, undelivered: [] })
    expect(postsIn(scene)).toBe(1)
  })
})

test('a post that is confirmed after the platform has forgotten its key counts as doubtful', async () => {
  const limits = { idempotent: true, keyMs: 60_000 }
  const [short, long] = [sceneOf(outage('done', 4), { limits }), sceneOf(outage('done', 9), { limits })]
  for (const scene of [short, long]) scene.show(answer)
  expect([await short.end(), postsIn(short)]).toMatchObject([{ doubtful: 0 }, 1])
  // Each minute in which it was tried, another message may have been made.
  expect([await long.end(), postsIn(long)]).toMatchObject([{ doubtful: 4, undelivered: [] }, 2])
})

/** The platform answers each look-up, but the posts between them have no result. */
const posts = (type: FakeFault['type'], count: number): readonly FakeFault[] =>
  Array.from({ length: count }, (_, index) => ({ call: 2 * index + 1, type }))

test.each(['ambiguous', 'done'] as const)(
  'after two posts without a result (%s) the delivery names the answer, which is doubled at most once',
  async (type) => {
    const scene = sceneOf(posts(type, 9), { lookUp: 'probe' })
    scene.show(answer)
    const missing = { key: 'answer#0', type: 'ambiguous', reason: expect.stringContaining('confirmed neither') }
    expect(await scene.end()).toMatchObject({ shown: 0, doubtful: 2, undelivered: [missing] })
    expect(postsIn(scene)).toBe(type === 'done' ? 2 : 0)
  },
)

const paragraphs = Array.from({ length: 60 }, (_, index) => `Paragraph ${index} of it.`)
const many = settledWith([text(paragraphs.join('\n\n'))])
const certain = ['unreachable', 'rate-limited', 'too-long', 'unparsable'] as const
const fault = fc.record({
  call: fc.integer({ min: 1, max: 25 }),
  type: fc.constantFrom('ambiguous', 'done', ...certain),
})

/** How often each paragraph is on the screen. */
function copiesIn(scene: Scene): readonly number[] {
  const said = textsOf(scene).join('\n\n').split(/\n\n/)
  return paragraphs.map((paragraph) => said.filter((one) => one === paragraph).length)
}

test('no plan of faults doubles a text more than once, or leaves out what the delivery does not name', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fault, { selector: ({ call }) => call, maxLength: 12 }),
      fc.constantFrom('probe', undefined),
      async (faults, lookUp) => {
        const scene = sceneOf(faults, { lookUp, lacks: ['upload'] })
        scene.show(many)
        const { doubtful, undelivered } = await scene.end()
        const copies = copiesIn(scene)
        expect(Math.max(...copies)).toBeLessThanOrEqual(2)
        expect(doubtful).toBeLessThanOrEqual(
          faults.filter(({ type }) => type === 'ambiguous' || type === 'done').length,
        )
        if (undelivered.length === 0) expect(Math.min(...copies)).toBe(1)
        else expect(undelivered.every(({ type }) => type === 'ambiguous')).toBe(true)
        if (doubtful === 0) expect(new Set(copies)).toEqual(new Set([1]))
      },
    ),
    { numRuns: 15 },
  )
})

test('an outage of any length loses nothing and doubles at most one message', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.constantFrom('ambiguous', 'done', 'unreachable'), { minLength: 1, maxLength: 40 }),
      async (first, types) => {
        const scene = sceneOf(
          types.map((type, index) => ({ call: first + index, type })),
          { lookUp: 'probe', lacks: ['upload'] },
        )
        scene.show(many)
        const { doubtful, undelivered, shown } = await scene.end()
        expect([undelivered, Math.min(...copiesIn(scene))]).toEqual([[], 1])
        expect(doubtful).toBeLessThanOrEqual(1)
        expect(postsIn(scene) - shown).toBeLessThanOrEqual(doubtful)
      },
    ),
    { numRuns: 15 },
  )
})

test('an ask is posted until it has a result, and is over when it is answered elsewhere', async () => {
  const scene = sceneOf(posts('ambiguous', 10), { lookUp: 'probe' })
  scene.show(replyWith([], { asks: [asks()], phase: 'blocked' }))
  for (let minute = 0; minute < 15; minute++) await scene.pass(60_000)
  expect(textsOf(scene)).toHaveLength(1)
  const over = sceneOf(posts('ambiguous', 10), { lookUp: 'probe' })
  over.show(replyWith([], { asks: [asks()], phase: 'blocked' }))
  await over.pass(30_000)
  over.show(settledWith([], { asks: [{ ...asks(), status: 'withdrawn' }] }))
  expect((await over.end()).undelivered).toEqual([])
})

test('a status without a result is not posted again', async () => {
  const scene = createScene({
    fake: { faults: posts('ambiguous', 1), lookUp: 'probe' },
    sink: { policy: { statusAfterMs: 0 } },
  })
  scene.show(replyWith([]))
  await scene.pass(60_000)
  expect(scene.fake.calls.filter(({ verb }) => verb === 'post')).toHaveLength(1)
  scene.show(answer)
  expect(await scene.end()).toMatchObject({ shown: 1, doubtful: 1, undelivered: [] })
})

test('a stream whose opening has no result becomes a message that grows by edits', async () => {
  const scene = createScene({
    fake: { faults: posts('ambiguous', 1), lookUp: 'probe', stream: 'append' },
    sink: { policy: { delivery: 'native', statusAfterMs: 3_600_000 } },
  })
  scene.show(replyWith([{ ...text('It', { status: 'open' }), id: 'prt_a' }]))
  await scene.pass(5000)
  expect(scene.fake.screen().map(({ text, openUntil }) => [text, openUntil])).toEqual([['It', undefined]])
  scene.show(settledWith([{ ...text('It is done.'), id: 'prt_a' }]))
  expect(await scene.end()).toMatchObject({ shown: 1, doubtful: 1, undelivered: [] })
  expect(textsOf(scene)).toEqual(['It is done.'])
})

test('a look-up that is refused says nothing, so the post is tried once more', async () => {
  const faults: readonly FakeFault[] = [
    { call: 1, type: 'ambiguous' },
    { call: 2, type: 'refused' },
  ]
  const scene = sceneOf(faults, { lookUp: 'exact' })
  scene.show(answer)
  expect(await scene.end()).toMatchObject({ doubtful: 1, undelivered: [] })
  expect(textsOf(scene)).toEqual(['It is done.'])
})

test.each(['exact', 'probe'] as const)('an edit without a result is repeated: %s', async (lookUp) => {
  const faults = [2, 3, 4].map((call): FakeFault => ({ call, type: 'done' }))
  const scene = sceneOf(faults, { lookUp })
  scene.show(replyWith([{ ...text('It', { status: 'open' }), id: 'prt_a' }]))
  await scene.pass(3000)
  scene.show(settledWith([{ ...text('It is done.'), id: 'prt_a' }]))
  expect(await scene.end()).toMatchObject({ doubtful: 0, undelivered: [] })
  expect(textsOf(scene)).toEqual(['It is done.'])
})

test.each([
  ['exact look-ups', { lookUp: 'exact' }],
  ['keys', { limits: { idempotent: true } }],
] as const)('a status that is there although it is no longer wanted is removed: %s', async (_, fake) => {
  const scene = createScene({
    fake: { ...fake, faults: [{ call: 1, type: 'done' }] },
    sink: { policy: { statusAfterMs: 0 } },
  })
  scene.show(replyWith([]))
  await scene.pass(10)
  expect(textsOf(scene)).toEqual([expect.stringContaining('Working')])
  scene.show(answer)
  expect(await scene.end()).toMatchObject({ doubtful: 0 })
  expect(textsOf(scene)).toEqual(['It is done.'])
})

test('after a restart during a post, the post is found', async () => {
  const scene = sceneOf([], { lookUp: 'exact' })
  const { port } = scene.fake
  const hanging = createScene({
    sink: {
      store: scene.store,
      clock: scene.clock,
      port: { ...port, post: (bubble, options) => port.post(bubble, options).then(() => new Promise(() => {})) },
    },
  })
  hanging.show(answer)
  await scene.pass(10)
  expect(textsOf(scene)).toEqual(['It is done.'])
  scene.show(answer)
  expect(await scene.end()).toMatchObject({ doubtful: 0, undelivered: [] })
  expect(postsIn(scene)).toBe(1)
})

describe.each([
  ['that is looked for in vain', 'probe'],
  ['that can not be looked for', undefined],
] as const)('a post %s', (_, lookUp) => {
  /** A chat in which each process is killed during its post, `kills` times, and the next `unclear` posts have no result. */
  async function killed(kills: number, unclear = 0) {
    const clock = createHandClock(beginning)
    const { port, screen } = createFake({ clock, lookUp })
    let started = 0
    const post: ChannelPort['post'] = async (bubble, options) => {
      started += 1
      if (started <= kills) return await new Promise(() => {})
      if (started <= kills + unclear) throw new PortError('ambiguous', 'The connection broke.')
      return await port.post(bubble, options)
    }
    const sinks = createKilledSinks({ port: { ...port, post }, clock })
    sinks.show(answer)
    for (let kill = 0; kill < kills; kill++) {
      await clock.advance(60_000, rest)
      sinks.kill()
    }
    const delivery = await sinks.settled()
    return { ...delivery, started, texts: screen().map((one) => one.text) }
  }

  test.each([1, 2, 4])('is made after its process was killed during it, %i times', async (kills) => {
    expect(await killed(kills)).toMatchObject({ undelivered: [], doubtful: kills, texts: ['It is done.'] })
  })

  test('is given up after five kills, because each may have left a copy', async () => {
    const reason = 'Its post was tried 5 times, and the platform confirmed none.'
    const undelivered = [{ key: 'answer#0', type: 'ambiguous', reason }]
    expect(await killed(6)).toMatchObject({ undelivered, doubtful: 5, started: 5, texts: [] })
  })

  test('that has no clear answer either counts as tried', async () => {
    expect(await killed(1, 1)).toMatchObject({ undelivered: [], doubtful: 2, texts: ['It is done.'] })
    expect(await killed(2, 9)).toMatchObject({ undelivered: [{ key: 'answer#0' }], doubtful: 4, started: 4 })
  })
})

type Step = 'killed' | 'unclear' | 'limited'

/**
 * A chat whose posts end as `steps` say, and then always unclear. The process is killed during or after each `killed` or `limited` one.
 * `lookUp` answers the look-up after each post. Without it, no post can be looked for.
 */
async function afterSteps(steps: readonly Step[], lookUp?: (step: Step) => LookedUp['type']) {
  const clock = createHandClock(beginning)
  const { port } = createFake({ clock })
  const made: Step[] = []
  const post: ChannelPort['post'] = async () => {
    const step = steps[made.length] ?? 'unclear'
    made.push(step)
    if (step === 'killed') return await new Promise(() => {})
    if (step === 'unclear') throw new PortError('ambiguous', 'The connection broke.')
    throw new PortError('rate-limited', 'Wait an hour.', { retryAfterMs: 3_600_000 })
  }
  const look: ChannelPort['lookUp'] =
    lookUp && (async () => (lookUp(made.at(-1) ?? 'unclear') === 'absent' ? { type: 'absent' } : { type: 'unknown' }))
  const sinks = createKilledSinks({ port: { ...port, post, ...(look && { lookUp: look }) }, clock })
  sinks.show(answer)
  for (const step of steps) {
    if (step === 'unclear') continue
    await clock.advance(60_000, rest)
    sinks.kill()
  }
  const { undelivered, doubtful } = await sinks.settled()
  return { keys: undelivered.map(({ key }) => key), doubtful, made }
}

describe.each([
  ['that is looked for in vain', () => 'unknown'],
  ['that can not be looked for', undefined],
] as const)('a post without a clear answer %s', (_, lookUp) => {
  test('is repeated once, however often the process ends before that', async () => {
    const steps = ['unclear', 'limited', 'limited', 'limited'] as const
    expect(await afterSteps(steps, lookUp)).toEqual({
      keys: ['answer#0'],
      doubtful: 2,
      made: [...steps, 'unclear'],
    })
  })

  test('is repeated more often if processes end during that', async () => {
    const steps = ['unclear', 'killed', 'limited', 'killed', 'limited', 'killed'] as const
    expect(await afterSteps(steps, lookUp)).toEqual({
      keys: ['answer#0'],
      doubtful: 5,
      made: [...steps, 'unclear'],
    })
  })
})

test('interrupted tries that are certainly not in the chat allow no further ones', async () => {
  const steps = ['unclear', 'killed', 'killed', 'killed'] as const
  const lookUp = (step: Step) => (step === 'killed' ? 'absent' : 'unknown')
  expect(await afterSteps(steps, lookUp)).toEqual({ keys: ['answer#0'], doubtful: 2, made: [...steps, 'unclear'] })
})

test('a stream whose opening was interrupted and is certainly not there starts again without tries', () => {
  const intent = intentEntry('answer#0', { kind: 'stream' })
  const before = { ...emptyLedger, entries: [intent] }
  const recovered = recoveredLedger(before, { isIdempotent: false, canLookUp: true })
  const [entry = intent] = recovered.entries.filter((one) => one.state === 'intent')
  const lookUp = { type: 'look-up', entry, isWanted: true, priority: 'final' } as const
  const { entries } = withLookUp(recovered, lookUp, { type: 'absent' })
  expect([recovered.entries, entries]).toMatchObject([[{ interrupted: 1 }], [{ tries: 0, interrupted: 0 }]])
})

test('a post whose only try has a result is not counted twice while it waits', () => {
  const intent = intentEntry('answer#0')
  const resolution = { isIdempotent: false, canLookUp: false }
  const once = recoveredLedger({ ...emptyLedger, entries: [intent] }, resolution)
  expect([deliveryOf(once).doubtful, recoveredLedger(once, resolution)]).toEqual([1, once])
})

test('a message that is tried once is not tried again after its process was killed', () => {
  const status = { ...emptyLedger, entries: [intentEntry('status', { type: 'status' })] }
  const { entries, doubtful } = recoveredLedger(status, { isIdempotent: false, canLookUp: false })
  expect([entries.map(({ state }) => state), doubtful]).toEqual([['doubtful'], 1])
})

describe('a long answer whose first messages had no result while it grew', () => {
  const lines = Array.from({ length: 150 }, (_, index) => `Line ${index} of it.`)
  const part = (count: number, status: 'open' | 'sealed') => ({
    ...text(lines.slice(0, count).join('\n\n'), { status }),
    id: 'prt_a',
  })

  test('is posted as it is at the end: that text was never tried', async () => {
    const scene = createScene({
      fake: { faults: posts('ambiguous', 2), lookUp: 'probe', limits: { maxLength: 4000 } },
      sink: { policy: { statusAfterMs: 3_600_000, notifyAfterMs: 10_000 } },
    })
    for (let count = 1; count <= 150; count++) {
      scene.show(replyWith([part(count, 'open')]))
      await scene.pass(300)
    }
    scene.show(settledWith([part(150, 'sealed')], {}, 47_000))
    expect((await scene.end()).undelivered).toEqual([])
    const said = textsOf(scene).join('\n\n').split('\n\n')
    expect(lines.filter((line) => !said.includes(line))).toEqual([])
  })

  test('is not called done while a message of it may be missing', async () => {
    const scene = createScene({
      fake: { faults: posts('ambiguous', 9), lookUp: 'probe', limits: { maxLength: 4000 } },
      sink: { policy: { statusAfterMs: 3_600_000, notifyAfterMs: 10_000 } },
    })
    scene.show(replyWith([part(1, 'open')]))
    await scene.pass(40_000)
    scene.show(settledWith([part(150, 'sealed')], {}, 47_000))
    expect((await scene.end()).undelivered).toMatchObject([{ card: 'answer', type: 'ambiguous' }])
    expect(textsOf(scene)).toEqual([])
  })
})
