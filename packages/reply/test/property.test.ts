import {
  type Change,
  type Child,
  createEventReader,
  diff,
  emptyReply,
  emptyTrack,
  type Reply,
  replay,
  repliesOf,
  type TrackState,
  track,
} from '@reply/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cellValues } from '../src/track/cells.ts'
import { type Block, blocksOf, doubled, joined, spareDeltas } from './mutate.ts'
import { observing } from './observing.ts'
import { type Picture, pictureOf, withChange } from './picture.ts'
import { recorded } from './recorded.ts'

/** The recordings except the largest, which are left to the truth test. */
const tapes = new Map<string, Uint8Array>()
const small = fc
  .constantFrom(...recorded)
  .map((one) => {
    const bytes = tapes.get(one.name) ?? one.read().bytes
    tapes.set(one.name, bytes)
    return { name: one.name, bytes, toString: () => one.name }
  })
  .filter(({ bytes }) => bytes.length < 200_000)
const runs = { numRuns: 60 }
const place = fc.double({ min: 0, max: 1, noNaN: true })

/**
 * Drops receive times, and what a reply left to the next one: a background sub-agent is there as it was when the reply
 * ended.
 */
function settledOf(replies: readonly Reply[]): unknown {
  return JSON.parse(JSON.stringify(replies), (key, value) => {
    if (/^(started|settled|asked|closed|ended)At$/.test(key)) return undefined
    return key === 'children' ? value.filter((child: Child) => child.reply.phase === 'settled') : value
  })
}

function inPieces(bytes: Uint8Array, cuts: readonly number[]): readonly Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => Math.floor(cut * bytes.length)))].sort((a, b) => a - b)
  return [0, ...places].map((from, at) => bytes.slice(from, places[at]))
}
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 200 })

describe('a stream gives the same replies', () => {
  test('in any chunks', async () => {
    await fc.assert(
      fc.asyncProperty(small, cuts, async ({ bytes }, places) => {
        expect(await replay(inPieces(bytes, places))).toEqual(await replay(bytes))
      }),
      runs,
    )
  })

  test('byte by byte', async () => {
    const { bytes } = recorded.find((one) => one.scenario === 'unicode')?.read() ?? expect.fail()
    expect(
      await replay(
        inPieces(
          bytes,
          Array.from(bytes, (_, at) => at / bytes.length),
        ),
      ),
    ).toEqual(await replay(bytes))
  })

  test('with duplicate frames, at once or later', async () => {
    const repeats = fc.array(fc.tuple(fc.nat(10_000), fc.nat(30)), { minLength: 1, maxLength: 300 })
    await fc.assert(
      fc.asyncProperty(small, repeats, async ({ bytes }, picks) => {
        const blocks = blocksOf(bytes)
        const which = new Map(picks.map(([at, distance]) => [at % blocks.length, distance]))
        expect(settledOf(await replay(joined(doubled(blocks, which))))).toEqual(settledOf(await replay(bytes)))
      }),
      runs,
    )
  })

  test('with every permitted frame duplicated', async () => {
    await fc.assert(
      fc.asyncProperty(small, fc.nat(30), async ({ bytes }, distance) => {
        const blocks = blocksOf(bytes)
        const all = new Map(blocks.map((_, at) => [at, distance]))
        expect(settledOf(await replay(joined(doubled(blocks, all))))).toEqual(settledOf(await replay(bytes)))
      }),
      runs,
    )
  })

  test('with deltas missed before their seal', async () => {
    await fc.assert(
      fc.asyncProperty(small, fc.func(fc.boolean()), async ({ bytes }, isMissed) => {
        const blocks = blocksOf(bytes)
        const missed = new Set(spareDeltas(blocks).filter((at) => isMissed(at)))
        const rest = blocks.filter((_, at) => !missed.has(at))
        expect(settledOf(await replay(joined(rest)))).toEqual(settledOf(await replay(bytes)))
      }),
      runs,
    )
  })
})

describe('several sessions', () => {
  const isOneConnection = ({ bytes }: { readonly bytes: Uint8Array }): boolean =>
    blocksOf(bytes).filter(({ frame }) => frame?.type === 'server.connected').length === 1

  test('interleaved in any way are the same as one after another', async () => {
    const single = small.filter(isOneConnection)
    const turns = fc.infiniteStream(fc.boolean())
    await fc.assert(
      fc.asyncProperty(single, single, turns, async (one, two, isFirst) => {
        fc.pre(one.name.replace(/ global$/, '') !== two.name.replace(/ global$/, ''))
        const all = interleaved(blocksOf(one.bytes), blocksOf(two.bytes), isFirst)
        const alone = [...(await replay(one.bytes)), ...(await replay(two.bytes))]
        expect(bySession(await replay(joined(all)))).toEqual(bySession(alone))
      }),
      runs,
    )
  })

  test('whose parents arrive late end the same', async () => {
    const told = small.filter((one) => isOneConnection(one) && !one.name.includes('session-deleted'))
    await fc.assert(
      fc.asyncProperty(told, place, async ({ bytes }, at) => {
        const blocks = blocksOf(bytes)
        const late = Math.floor(at * blocks.length)
        const early = blocks.slice(0, late)
        // The roots last: nothing can continue before they are known.
        const told = [
          ...early.filter((block) => tellsOf(block) === 'child'),
          ...early.filter((block) => tellsOf(block) === 'root'),
        ]
        const all = [...early.filter((block) => !tellsOf(block)), ...told, ...blocks.slice(late)]
        expect(untitled(await replay(joined(all.map(stamped))))).toEqual(untitled(await replay(bytes)))
      }),
      runs,
    )
  })
})

function tellsOf({ frame }: Block): 'root' | 'child' | undefined {
  if (frame?.type !== 'session.created' && frame?.type !== 'session.updated') return undefined
  return frame.properties.info.parentID === undefined ? 'root' : 'child'
}

/** Drops titles: which reply has which title depends on when the session arrived. */
function untitled(replies: readonly Reply[]): unknown {
  return JSON.parse(JSON.stringify(settledOf(replies)), (_, value) =>
    typeof value === 'object' && value !== null && 'promptIDs' in value ? { ...value, title: undefined } : value,
  )
}

/** As if each frame had arrived in its own millisecond. */
function stamped(block: Block, at: number): Block {
  return { ...block, text: `: at ${at + 1}\n${block.text.replace(/^: at \d+\n/, '')}` }
}

/** Leaves out the second stream's greeting: it would be a new connection. */
function interleaved(one: readonly Block[], two: readonly Block[], isFirst: Iterator<boolean>): readonly Block[] {
  const [first, second] = [[...one], two.filter(({ frame }) => frame?.type !== 'server.connected')]
  const all = first.splice(0, 1)
  while (first.length + second.length > 0) {
    const next = (isFirst.next().value ? first : second).shift() ?? first.shift() ?? second.shift()
    if (next) all.push(next)
  }
  return all
}

function bySession(replies: readonly Reply[]): unknown {
  return settledOf(replies.toSorted((a, b) => (a.sessionID < b.sessionID ? -1 : Number(a.sessionID > b.sessionID))))
}

describe('an observer', () => {
  test('receives each reply from start to a single end, and can rebuild it from its changes', async () => {
    await fc.assert(
      fc.asyncProperty(small, cuts, async ({ bytes }, places) => {
        const heard: { picture: Picture; reply: Reply }[] = []
        const observe = (opened: Reply) => {
          const one = { picture: pictureOf(emptyReply(opened.sessionID)), reply: opened, first: true }
          heard.push(one)
          return [
            observing((change) => {
              expect(one.first).toBe(change.type === 'replyStarted')
              one.first = false
              one.picture = withChange(one.picture, change)
              if (change.type !== 'replyAmended') one.reply = change.reply
            }),
          ]
        }
        const errors: string[] = []
        const replies = await replay(inPieces(bytes, places), {
          observe,
          onError: (error) => errors.push(error.message),
        })
        expect(errors).toEqual([])
        expect(heard).toHaveLength(replies.length)
        for (const { picture, reply } of heard) {
          expect(reply.phase).toBe('settled')
          expect(picture).toEqual(pictureOf(reply))
        }
      }),
      runs,
    )
  })
})

/** A recording's events, and each root reply's states with the changes between them. */
function livesOf(bytes: Uint8Array) {
  const events = createEventReader().push(bytes, 1000)
  const lives = new Map<string, { readonly reply: Reply; readonly changes: readonly Change[] }[]>()
  let state = emptyTrack()
  for (const event of events) {
    const tracked = track(state, event)
    state = tracked.state
    for (const { reply, run, changes } of tracked.steps) {
      const key = `${reply.sessionID} ${run}`
      lives.set(key, [...(lives.get(key) ?? []), { reply, changes }])
    }
  }
  return { events, lives: [...lives.values()] }
}
const lives = small
  .map(({ name, bytes }) => ({ ...livesOf(bytes), toString: () => name }))
  .filter((one) => one.lives.length > 0)

describe('diff', () => {
  test('between any two states of a reply gives what live changes gave', () => {
    fc.assert(
      fc.property(lives, place, place, place, (one, which, from, to) => {
        const life = one.lives[Math.floor(which * one.lives.length)] ?? one.lives[0] ?? expect.fail()
        const end = life.findIndex(({ reply }) => reply.phase === 'settled')
        const steps = life.slice(0, end === -1 ? life.length : end + 1)
        const [a, b] = [from, to]
          .map((at) => Math.min(steps.length - 1, Math.floor(at * steps.length)))
          .sort((x, y) => x - y)
        if (a === undefined || b === undefined) return
        const [before, after] = [steps[a]?.reply ?? expect.fail(), steps[b]?.reply ?? expect.fail()]
        if (before.phase === 'settled') return
        const told = diff(before, after).reduce(withChange, pictureOf(before))
        const live = steps
          .slice(a + 1, b + 1)
          .flatMap(({ changes }) => changes)
          .reduce(withChange, pictureOf(before))
        expect(live).toEqual(pictureOf(after))
        expect(told).toEqual(pictureOf(after))
        expect(
          diff(emptyReply(after.sessionID), after).reduce(withChange, pictureOf(emptyReply(after.sessionID))),
        ).toEqual(pictureOf(after))
      }),
      { numRuns: 150 },
    )
  })
})

describe('a reply', () => {
  test('goes through JSON and back', async () => {
    await fc.assert(
      fc.asyncProperty(small, async ({ bytes }) => {
        for (const reply of await replay(bytes)) expect(JSON.parse(JSON.stringify(reply))).toEqual(reply)
      }),
      runs,
    )
  })

  test('is the same object after a repeated event', () => {
    fc.assert(
      fc.property(lives, ({ events }) => {
        let state = emptyTrack()
        for (const event of events) {
          state = track(state, event).state
          if (event.type === 'delta') continue
          const again = track(state, event)
          expect(again.steps).toEqual([])
          expect(repliesOf(again.state)).toEqual(repliesOf(state))
          for (const [at, reply] of repliesOf(again.state).entries()) expect(repliesOf(state)[at]).toBe(reply)
        }
      }),
      { numRuns: 30 },
    )
  })
})

describe('track', () => {
  test('does not mutate its input, and is deterministic', () => {
    fc.assert(
      fc.property(lives, fc.nat(), ({ events }, seed) => {
        let state = frozen(emptyTrack())
        for (const [at, event] of events.entries()) {
          const tracked = track(state, frozen(event))
          if ((at + seed) % 40 === 0) expect(track(state, event)).toEqual(tracked)
          state = frozen(tracked.state)
        }
      }),
      { numRuns: 40 },
    )
  })

  test('never changes a state that was kept, from whichever state it goes on', () => {
    fc.assert(
      fc.property(lives, fc.array(fc.nat()), ({ events }, branches) => {
        const kept = [{ state: emptyTrack(), content: contentOf(emptyTrack()) }]
        const keep = (state: TrackState): void => void kept.push({ state, content: contentOf(state) })
        for (const event of events) keep(track(kept.at(-1)?.state ?? expect.fail(), event).state)
        for (const seed of branches) {
          const at = seed % kept.length
          const tracked = events.slice(at, at + 5).reduce((state, event) => {
            const next = track(state, event).state
            keep(next)
            return next
          }, kept[at]?.state ?? expect.fail())
          // Going on from an old state leads where it led before.
          const before = at + 5 <= events.length ? kept[at + 5] : undefined
          if (before && at < events.length) expect(contentOf(tracked)).toEqual(before.content)
        }
        for (const { state, content } of kept) {
          const now = contentOf(state)
          expect(now.cells.length).toBe(content.cells.length)
          for (const [place, cell] of now.cells.entries()) expect(cell).toBe(content.cells[place])
          expect({ ...now, cells: [] }).toEqual({ ...content, cells: [] })
        }
      }),
      { numRuns: 20 },
    )
  })
})

/** All that a state holds. Its sessions are immutable themselves, so a list of them is enough. */
function contentOf(state: TrackState): Omit<TrackState, 'cells'> & { readonly cells: readonly { id: string }[] } {
  const cells = frozen(cellValues(state.cells)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return { ...state, cells }
}

/** Deep-freezes a value, maps included. Skips what is frozen already. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (value instanceof Map) {
    const refuse = (): never => expect.fail('a map of an older state was changed')
    Object.assign(value, { set: refuse, delete: refuse, clear: refuse })
    for (const item of value.values()) frozen(item)
  }
  Object.freeze(value)
  for (const item of Object.values(value)) frozen(item)
  return value
}
