import { type Form, NotTakenError } from '@reply/sink/channel'
import { beforeEach, describe, expect, test } from 'vitest'
import { receivedAgoMs } from '../src/chats/seen-messages.ts'
import type { QueuedPrompt } from '../src/state/queued-prompt.ts'
import { createMemoryStore } from '../src/store/memory.ts'
import { type Store, StoreError, type Write } from '../src/store/store.ts'
import { texts } from '../src/texts.ts'
import { createMembers, type MemberOptions, type Members } from './members.ts'

let all: Members
beforeEach(() => {
  all = createMembers()
})

/** The members `one` and `two` only receive. */
async function joinReceivers(options: MemberOptions = {}) {
  return { one: await all.join('one', options), two: await all.join('two', options) }
}

const joinOwner = async (options: MemberOptions = {}) => await all.join('owner', { ...options, isOwner: true })

/** The entries that are stored and not handled. */
const inbox = (): readonly QueuedPrompt[] =>
  [...all.memory.queues].flatMap(([name, entries]) =>
    name.startsWith('inbox/') ? [...entries.values()].map((one) => JSON.parse(one)) : [],
  )

const keys = (prefix: string): readonly string[] =>
  [...all.memory.values].flatMap(([key, { expiresAt = Number.POSITIVE_INFINITY }]) =>
    key.startsWith(prefix) && expiresAt > all.clock.now() ? [key] : [],
  )

/** A store whose commits of some writes do what a test says. */
const withCommits =
  (isMeant: (write: Write) => boolean, change: (commit: Store['commit']) => Store['commit']) =>
  (store: Store): Store => {
    const changed = change(store.commit)
    return {
      ...store,
      commit: async (...given) => await (given[0].some(isMeant) ? changed : store.commit)(...given),
    }
  }

/** A press of the platform's own Stop button. */
const stop = { type: 'stop', chat: { id: '1' }, actor: { id: '1', name: 'Ann' } } as const

/** Ann stops a run on its page. */
const onPage = () =>
  ({
    type: 'page',
    chat: { id: '1' },
    actor: { id: '1', name: 'Ann' },
    runID: 'abcdef',
    act: { type: 'stop' },
    answer: async (text?: string) => void all.told.push(text ?? 'ok'),
  }) as const

/** A store whose first read takes a while. */
const slowReads =
  (ms: number) =>
  (store: Store): Store => {
    let reads = 0
    return {
      ...store,
      read: async (...given) => {
        if (reads++ === 0) await new Promise<void>((resolve) => all.clock.after(ms, resolve))
        return await store.read(...given)
      },
    }
  }

describe('a message', () => {
  test('that another member received is handled by the owner at once, which shows that it is typing', async () => {
    const { one } = await joinReceivers()
    await joinOwner()
    await one.receive('tg', all.text('1', 'hello'))
    await all.settle()
    expect(all.done).toEqual(['owner hello'])
    expect(all.told).toEqual(['owner types'])
    expect([inbox(), all.verdicts]).toEqual([[], ['one taken']])
  })

  test('that its owner received is handled with its own answer and without a commit for its try', async () => {
    const commits: string[] = []
    const owner = await joinOwner({
      storeOf: withCommits(
        () => true,
        (commit) =>
          async (...given) => {
            commits.push(given[0].map(({ type }) => type).join())
            return await commit(...given)
          },
      ),
      act: async () => {
        throw new Error('It broke.')
      },
    })
    await owner.receive('tg', all.text('1', '/new'))
    await all.settle()
    expect(all.told).toEqual([texts.failed('It broke.')])
    expect(commits).toEqual(['put-if-absent,enqueue', 'dequeue'])
  })

  test('that its owner gets twice at the same time is not tried if the store fails for the first one', async () => {
    let fails = 1
    const owner = await joinOwner({
      storeOf: withCommits(
        ({ type }) => type === 'enqueue',
        (commit) =>
          async (...given) => {
            if (fails-- > 0) throw new StoreError('failed', 'The disk is full.')
            return await commit(...given)
          },
      ),
    })
    await Promise.all([1, 2].map(async () => await owner.receive('tg', all.text('1', '/new'))))
    await all.settle()
    expect(all.done).toEqual(['owner /new'])
    expect(all.told).toEqual([texts.notTaken])
  })

  test('that several members receive is handled once', async () => {
    const { one, two } = await joinReceivers()
    const owner = await joinOwner()
    await Promise.all([one, two, owner].map(async ({ receive }) => await receive('tg', all.text('1', 'hello'))))
    await all.settle()
    expect(all.done).toEqual(['owner hello'])
    expect(all.verdicts.map((one) => one.split(' ')[1]).toSorted()).toEqual(['repeated', 'repeated', 'taken'])
  })

  test('is handled in the order of the platform, also if two members stored it in another one', async () => {
    const { one, two } = await joinReceivers()
    for (const id of ['9', '10', '8']) await one.receive('tg', all.text(id, `number ${id}`))
    await two.receive('tg', all.text('7', 'number 7'))
    const chat = { id: '5', kind: 'private' } as const
    const [late, early] = [
      { id: 'b', postedAt: 2000 },
      { id: 'a', postedAt: 1000 },
    ]
    await two.receive('tg', all.text('', 'later', { chat, messageRef: late }))
    await one.receive('tg', all.text('', 'earlier', { chat, messageRef: early }))
    await joinOwner()
    await all.settle()
    expect(all.done.filter((said) => said.includes('number'))).toEqual(
      ['7', '8', '9', '10'].map((id) => `owner number ${id}`),
    )
    expect(all.done.filter((said) => said.includes('er ') && said.includes('lier'))).toEqual(['owner earlier'])
    expect(all.done.indexOf('owner earlier')).toBeLessThan(all.done.indexOf('owner later'))
  })

  test('overtakes one that waits, and none that is being handled', async () => {
    const { one, two } = await joinReceivers()
    let goOn = (): void => {}
    await joinOwner({
      act: async (text) => (text === '/slow' ? await new Promise((resolve) => (goOn = resolve)) : undefined),
    })
    await one.receive('tg', all.text('5', '/slow'))
    await all.settle()
    await one.receive('tg', all.text('9', 'nine'))
    await all.settle()
    await two.receive('tg', all.text('4', 'four'))
    await all.settle()
    expect(all.done).toEqual([])
    goOn()
    await all.settle()
    expect(all.done).toEqual(['owner /slow', 'owner four', 'owner nine'])
  })

  test('counts as the oldest until it is handled, from when a member received it', async () => {
    const { one } = await joinReceivers()
    const start = all.clock.now()
    await one.receive('tg', all.text('1', '/slow'))
    let goOn = (): void => {}
    await all.pass(3000)
    const { intake } = await joinOwner({
      act: async (text) => (text === '/slow' ? await new Promise((resolve) => (goOn = resolve)) : undefined),
    })
    await one.receive('tg', all.text('2', 'two'))
    await all.settle()
    expect(intake.oldestAt()).toBe(start)
    goOn()
    await all.settle()
    expect([all.done, intake.oldestAt()]).toEqual([['owner /slow', 'owner two'], undefined])
  })

  test('that stops runs waits half a second for those before it', async () => {
    const { one } = await joinReceivers()
    await joinOwner({ act: async (text) => (text === '/slow' ? await new Promise(() => {}) : undefined) })
    await one.receive('tg', all.text('5', '/slow'))
    await one.receive('tg', all.text('6', '/stop'))
    await all.pass(450)
    expect(all.done).toEqual([])
    await all.pass(50)
    expect(all.done).toEqual(['owner /stop'])
  })

  test('is found within five seconds if its hint is lost', async () => {
    const { one } = await joinReceivers({
      storeOf: withCommits(
        ({ type }) => type === 'enqueue',
        (commit) => async (writes, lease) => await commit(writes, lease),
      ),
    })
    await joinOwner()
    await one.receive('tg', all.text('1', 'hello'))
    await all.pass(4900)
    expect(all.done).toEqual([])
    await all.pass(100)
    expect(all.done).toEqual(['owner hello'])
  })

  test('that no process has begun is not tried, however long it waited, and counts once its owner begins', async () => {
    const { one } = await joinReceivers()
    await one.receive('tg', all.text('1', '/new'))
    expect(inbox()).toMatchObject([{ isUnbegun: true }])
    const first = await joinOwner({ act: async () => await new Promise(() => {}) })
    await all.settle()
    expect(inbox()).toMatchObject([{ text: '/new' }])
    expect(inbox()[0]).not.toHaveProperty('isUnbegun')
    first.kill()
    await all.pass(5000)
    await all.join('next', { isOwner: true })
    await all.settle()
    // The first owner may have run it.
    expect(all.done).toEqual(['next /new again'])
  })

  test('that was stored while no owner lived runs as if it had just come', async () => {
    const { one } = await joinReceivers()
    await one.receive('tg', all.text('1', '/new'))
    await all.pass(10_000)
    await joinOwner()
    await all.settle()
    expect(all.done).toEqual(['owner /new'])
  })

  test('that waited when its owner stopped gracefully was not tried, and the one before it was', async () => {
    const first = await joinOwner({ act: async () => await new Promise(() => {}) })
    await first.receive('tg', all.text('1', '/one'))
    await first.receive('tg', all.text('2', '/two'))
    await all.settle()
    await first.stop()
    await all.join('next', { isOwner: true })
    await all.settle()
    expect(all.done).toEqual(['next /one again', 'next /two'])
  })

  test('that is stored while its owner stops gracefully is begun by the next one first', async () => {
    let goOn = (): void => {}
    const slow = withCommits(
      ({ type }) => type === 'enqueue',
      (commit) =>
        async (...given) => {
          const made = await commit(...given)
          await new Promise<void>((resolve) => {
            goOn = resolve
          })
          return made
        },
    )
    const first = await joinOwner({ storeOf: slow })
    const received = first.receive('tg', all.text('1', '/new'))
    await all.settle()
    const stopped = first.stop({ isStillOwner: true })
    await all.settle()
    goOn()
    await Promise.all([received, stopped])
    await first.release()
    await all.join('next', { isOwner: true })
    await all.settle()
    expect(all.done).toEqual(['next /new'])
  })

  test('and a press that come after its owner has ended its intake are for the next one', async () => {
    const first = await joinOwner()
    await first.stop()
    await all.join('next', { isOwner: true })
    await first.receive('tg', all.text('1', '/new'))
    await first.receive('tg', all.press('b/run/1'), 'p1')
    await all.settle()
    expect(all.done.toSorted()).toEqual(['next /new', 'next pressed b/run/1'])
    expect(all.told).toEqual(['Done: b/run/1'])
  })

  test('of a channel that the config of its owner lacks is for the next one, and is handled after an hour without one', async () => {
    const { one } = await joinReceivers()
    const first = await joinOwner({ lacksChannel: true })
    await one.receive('tg', all.text('1', 'hello'))
    await one.receive('tg', all.text('2', 'again'))
    await all.settle()
    expect([all.done, inbox().map(({ text }) => text)]).toEqual([[], ['hello', 'again']])
    expect(all.errors.splice(0).map(({ message }) => message)).toEqual([
      'Messages of the channel "tg", which this config lacks, wait for a bridge that has it. Restart this one with the same config as the others.',
    ])
    await first.stop()
    const next = await all.join('next', { isOwner: true })
    await all.settle()
    expect([all.done, inbox()]).toEqual([['next hello', 'next again'], []])
    await next.stop()
    await all.join('last', { isOwner: true, lacksChannel: true })
    await one.receive('tg', all.text('3', 'late'))
    await all.pass(10_000)
    expect([all.done.length, all.errors.splice(0).length]).toEqual([2, 1])
    await all.clock.advance(3_600_000)
    await all.pass(10_000)
    expect([all.done.slice(2), inbox()]).toEqual([['last late'], []])
  })

  test('beyond the rate limit is refused by the owner, also if other members received it', async () => {
    const { one, two } = await joinReceivers({ messagesPerMinute: 1 })
    const owner = await joinOwner({ messagesPerMinute: 2 })
    await one.receive('tg', all.text('1', 'first'))
    await two.receive('tg', all.text('2', 'second'))
    await two.receive('tg', all.text('3', 'third'))
    await all.settle()
    await owner.receive('tg', all.text('4', 'fourth'))
    await all.settle()
    expect(all.done).toEqual(['owner first', 'owner second'])
    expect(all.told.filter((one) => one.includes('minute'))).toEqual([`owner posts ${texts.tooMany}`, texts.tooMany])
    expect(inbox()).toEqual([])
  })

  test('is given back if it is one of too many at the same time, except where nothing is delivered again', async () => {
    const hangs = {
      storeOf: withCommits(
        ({ type }) => type === 'enqueue',
        () => async () => await new Promise(() => {}),
      ),
    }
    const one = await all.join('one', hangs)
    const received = Array.from(
      { length: 500 },
      async (_, index) => await one.receive('tg', all.text(`${index}`, 'hi')),
    )
    const results = Promise.allSettled(received)
    await all.settle()
    await expect(one.receive('tg', all.text('x', 'hi'))).rejects.toThrow(NotTakenError)
    await all.pass(2000)
    expect((await results).every(({ status }) => status === 'rejected')).toBe(true)
    expect(all.verdicts).toEqual(Array.from({ length: 501 }, () => 'one postponed'))
    // The state may still store them.
    await expect(one.receive('tg', all.text('x', 'hi'))).rejects.toThrow(NotTakenError)
    const patient = await all.join('patient', { deliversOnce: true })
    await Promise.all(
      Array.from({ length: 600 }, async (_, index) => await patient.receive('tg', all.text(`p${index}`, 'hi'))),
    )
    expect(inbox()).toHaveLength(600)
  })
})

describe('a refusal', () => {
  const stranger = (id: string) => all.text(id, 'hello', { actor: { id: '3', name: 'Eve' } })

  test('is sent to a person once an hour by all members', async () => {
    const { one, two } = await joinReceivers()
    await Promise.all([one.receive('tg', stranger('1')), two.receive('tg', stranger('2'))])
    await two.receive('tg', stranger('3'))
    expect(all.told).toEqual([texts.stranger('tg:3')])
    await all.clock.advance(3_600_000)
    await two.receive('tg', stranger('4'))
    expect(all.told).toHaveLength(2)
  })

  test('only counts if the person could be told, and the platform keeps the message otherwise', async () => {
    let isHeld = true
    const losing = withCommits(
      ({ type }) => type === 'put-if-absent',
      (commit) =>
        async (...given) => {
          isHeld = false
          return await commit(...given)
        },
    )
    const one = await all.join('one', { storeOf: losing, isHeld: () => isHeld })
    await expect(one.receive('tg', stranger('1'))).rejects.toThrow(NotTakenError)
    expect([all.told, keys('')]).toEqual([[], []])
    const two = await all.join('two')
    await two.receive('tg', stranger('1'))
    expect(all.told).toEqual([texts.stranger('tg:3')])
  })
})

describe('a press at a member that does not own the chat', () => {
  test('is carried out by the owner, and answered by the member, before any time has passed', async () => {
    const { one } = await joinReceivers()
    await joinOwner()
    await one.receive('tg', all.press('b/run/1'), 'p1')
    expect([all.done, all.told]).toEqual([['owner pressed b/run/1'], ['Done: b/run/1']])
    expect(keys('press/').concat(keys('due/'))).toEqual([])
  })

  test('keeps all its fields, and opens a dialog where it was pressed', async () => {
    const { one } = await joinReceivers()
    const pressed: unknown[] = []
    const form = { token: 't', label: 'Fill in', questions: [] }
    await joinOwner({
      act: async (_, __, press) => {
        pressed.push(press)
        await press?.open?.(form)
      },
    })
    const chat = { id: '1', thread: '7', kind: 'shared' } as const
    const given = all.press('b/page/1', { chat, values: [['a', 'b']], isMessage: true })
    await one.receive('tg', given, 'p1')
    const { answer: _, open: __, ...fields } = given
    expect(pressed).toMatchObject([fields])
    expect(all.told).toEqual(['form Fill in'])
  })

  test('tells the state nothing that a button could be forged with, and its dialog gets the real token', async () => {
    const written: string[] = []
    const storeOf = withCommits(
      () => true,
      (commit) =>
        async (...given) => {
          written.push(JSON.stringify(given[0]))
          return await commit(...given)
        },
    )
    const { one } = await joinReceivers({ storeOf })
    await joinOwner({
      storeOf,
      act: async (token, __, press) => {
        await press?.open?.({ token: token.replace('.once', '.0.f'), label: token, questions: [] })
      },
    })
    const opened: string[] = []
    const open = async (form: Form) => void opened.push(form.token)
    await one.receive('tg', all.press('r~AbCd-_0123456789.once', { open }), 'p1')
    expect(opened).toEqual(['r~AbCd-_0123456789.0.f'])
    expect(written.join()).toContain('.once')
    expect(written.join()).not.toContain('AbCd-_0123456789')
  })

  test('that the platform delivers to two members is carried out once, also if one of them is the owner', async () => {
    const { one, two } = await joinReceivers()
    const owner = await joinOwner()
    await Promise.all([one, two, owner].map(async ({ receive }) => await receive('tg', all.press('b/run/1'), 'p1')))
    await one.receive('tg', all.press('b/run/1'), 'p1')
    expect(all.done).toEqual(['owner pressed b/run/1'])
    expect(all.told).toHaveLength(4)
  })

  test('twice by the person counts twice', async () => {
    const { one, two } = await joinReceivers()
    await joinOwner()
    await one.receive('tg', all.press('b/run/1'), 'p1')
    await two.receive('tg', all.press('b/run/1'), 'p2')
    expect(all.done).toHaveLength(2)
  })

  test('of a stranger is refused without the owner', async () => {
    const { one } = await joinReceivers()
    await one.receive('tg', all.press('b/run/1', { actor: { id: '3', name: 'Eve' } }), 'p1')
    expect([all.told, keys('')]).toEqual([[texts.stranger('tg:3')], []])
  })

  test('that no owner takes within two seconds is never carried out, and the person is told so', async () => {
    const { one } = await joinReceivers()
    const received = one.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(2000)
    await received
    expect(all.told).toEqual([texts.notTaken])
    await joinOwner()
    await all.pass(6000)
    expect(all.done).toEqual([])
  })

  // A database that comes back after a moment makes the first look slow, and everything after it fast.
  test.each([
    ['is not carried out', 1600, 0, [[], [texts.notTaken]]],
    ['is carried out', 1000, 0, [['owner pressed b/run/1'], ['Done: b/run/1']]],
    ['is not carried out', 1000, 1700, [[], [texts.notTaken]]],
  ])('%s if the first look takes %i ms and its owner is ready after %i ms', async (_, lookMs, restoreMs, expected) => {
    const one = await all.join('one', { storeOf: slowReads(lookMs) })
    await joinOwner({ restoreMs })
    const received = one.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(2000)
    await received
    await all.pass(4000)
    expect([all.done, all.told]).toEqual(expected)
  })

  test('that an owner finds when its time is over is not carried out, though it read it before', async () => {
    const { one } = await joinReceivers()
    let goOn = (): void => {}
    const suspended = withCommits(
      (write) => write.type === 'compare-and-set' && write.key.startsWith('due/'),
      (commit) =>
        async (...given) => {
          await new Promise<void>((resolve) => {
            goOn = resolve
          })
          return await commit(...given)
        },
    )
    await joinOwner({ storeOf: suspended })
    const received = one.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(2000)
    await received
    goOn()
    await all.settle()
    expect([all.done, all.told]).toEqual([[], [texts.notTaken]])
  })

  test('whose claim the store made in time, and answered late, is not carried out', async () => {
    const { one } = await joinReceivers()
    const slow = withCommits(
      (write) => write.type === 'compare-and-set' && write.key.startsWith('due/'),
      (commit) =>
        async (...given) => {
          const made = await commit(...given)
          await new Promise<void>((resolve) => all.clock.after(1600, resolve))
          return made
        },
    )
    await joinOwner({ storeOf: slow })
    const received = one.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(3000)
    await received
    // The member could not know that.
    expect([all.done, all.told]).toEqual([[], ['ok']])
  })

  test.each([
    ['still restores what runs there', { restoreMs: 3000 }, texts.notTaken],
    ['needs long to find its button', { lookMs: 3000 }, 'ok'],
  ])('is not carried out late by an owner that %s', async (_, options, answer) => {
    const { one } = await joinReceivers()
    await joinOwner(options)
    const received = one.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(2000)
    await received
    await all.pass(5000)
    expect([all.done, all.told]).toEqual([[], [answer]])
  })

  test('whose computer sleeps before its time begins is not carried out, and the person is told so', async () => {
    const sleeping = withCommits(
      (write) => write.type === 'put-if-absent' && write.key.startsWith('due/'),
      (commit) =>
        async (...given) => {
          all.clock.step(3000)
          return await commit(...given)
        },
    )
    const one = await all.join('one', { storeOf: sleeping })
    await joinOwner()
    const received = one.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(2000)
    await received
    expect([all.done, all.told]).toEqual([[], [texts.notTaken]])
  })

  test('whose own commit is made late is not carried out', async () => {
    const slow = withCommits(
      (write) => 'key' in write && write.key.startsWith('press/'),
      (commit) =>
        async (...given) => {
          await new Promise<void>((resolve) => all.clock.after(10_000, resolve))
          return await commit(...given)
        },
    )
    const { one } = await joinReceivers({ storeOf: slow })
    await joinOwner()
    const received = one.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(2000)
    await received
    await all.pass(15_000)
    expect([all.done, all.told]).toEqual([[], [texts.notTaken]])
  })

  test('is only confirmed if its owner is killed while it carries it out', async () => {
    const { one } = await joinReceivers()
    const owner = await joinOwner({ act: async () => await new Promise(() => {}) })
    const received = one.receive('tg', all.press('b/run/1'), 'p1')
    await all.settle()
    owner.kill()
    await all.pass(5000)
    await received
    await all.join('next', { isOwner: true })
    await all.pass(6000)
    expect([all.done, all.told]).toEqual([[], ['ok']])
  })

  test('is only confirmed if its answer is lost', async () => {
    const { one } = await joinReceivers()
    const losing = withCommits(
      (write) => write.type === 'compare-and-set' && write.key.startsWith('answer/'),
      () => async () => {
        throw new StoreError('failed', 'The disk is full.')
      },
    )
    await joinOwner({ storeOf: losing })
    const received = one.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(2000)
    await received
    expect([all.done, all.told]).toEqual([['owner pressed b/run/1'], ['ok']])
  })

  test('is answered although the hint of its answer is lost', async () => {
    const { one } = await joinReceivers()
    const silent = withCommits(
      (write) => write.type === 'compare-and-set' && write.key.startsWith('answer/'),
      (commit) => async (writes, lease) => await commit(writes, lease),
    )
    await joinOwner({ storeOf: silent })
    const received = one.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(250)
    await received
    expect(all.told).toEqual(['Done: b/run/1'])
  })

  test.each<[string, () => Promise<never>, string]>([
    ['is busy', async () => Promise.reject(new StoreError('busy', 'It is locked.')), texts.notTaken],
    ['hangs', async () => await new Promise<never>(() => {}), texts.notTaken],
    ['fails', async () => Promise.reject(new StoreError('failed', 'The disk is full.')), texts.stateFails],
  ])('is not carried out if the store %s, and the person is told so', async (_, commit, answer) => {
    const one = await all.join('one', {
      storeOf: withCommits(
        () => true,
        () => commit,
      ),
    })
    await joinOwner()
    const received = one.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(2000)
    await received
    expect([all.done, all.told]).toEqual([[], [answer]])
  })

  test('of the platform’s own Stop is carried out by the owner', async () => {
    const { one } = await joinReceivers()
    await joinOwner()
    await one.receive('tg', stop, 's1')
    await all.settle()
    expect(all.done).toEqual(['owner stopped'])
  })

  test('on the page of a run is judged by the owner, and its person is told so', async () => {
    const { one } = await joinReceivers()
    await joinOwner()
    await one.receive('tg', onPage())
    expect(all.told).toEqual([texts.runOver])
  })

  test.each([true, undefined])(
    'on a page is refused if its owner is dead, whatever its platform delivers',
    async (deliversOnce) => {
      const one = await all.join('one', { ...(deliversOnce && { deliversOnce }) })
      const owner = await joinOwner()
      owner.kill()
      const received = one.receive('tg', onPage())
      await all.pass(5000)
      await received
      expect(all.told).toEqual([texts.notTaken])
    },
  )

  test.each([true, undefined])('on a page is not kept by a member that may not receive', async (deliversOnce) => {
    const one = await all.join('one', { isHeld: () => false, ...(deliversOnce && { deliversOnce }) })
    const received = one.receive('tg', onPage()).catch((error: unknown) => error)
    await all.pass(5000)
    expect(await received).toBeInstanceOf(NotTakenError)
  })
})

test.each([
  ['is frozen', 0, texts.notTaken],
  ['does not take it because the store fails', 1, texts.stateFails],
])('the platform’s own Stop at another member is told to the chat if its owner %s', async (_, fails, answer) => {
  const one = await all.join('one', {
    storeOf: withCommits(
      () => fails > 0,
      () => async () => Promise.reject(new StoreError('failed', 'The disk is full.')),
    ),
  })
  const owner = await joinOwner()
  owner.kill()
  const received = one.receive('tg', stop, 's1')
  await all.pass(5000)
  await received
  expect([all.done, all.told]).toEqual([[], [`one posts ${answer}`]])
})

describe('a press that its owner received', () => {
  test.each([
    ['is carried out', 1900, [['owner pressed b/run/1'], ['Done: b/run/1']]],
    ['is not carried out', 2100, [[], [texts.notTaken]]],
  ])('%s if the first look takes %i ms', async (_, slowMs, expected) => {
    const owner = await joinOwner({ storeOf: slowReads(slowMs) })
    void owner.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(5000)
    expect([all.done, all.told]).toEqual(expected)
  })

  test.each([
    ['restores what runs there', { restoreMs: 3000 }],
    ['looks for its button', { lookMs: 3000 }],
  ])('is not carried out late if its process is stopped while it %s', async (_, options) => {
    const owner = await joinOwner(options)
    void owner.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(5000)
    expect([all.done, all.told]).toEqual([[], [texts.notTaken]])
  })

  test('is refused again if the platform delivers it again', async () => {
    const owner = await joinOwner({ storeOf: slowReads(2100) })
    void owner.receive('tg', all.press('b/run/1'), 'p1')
    await all.pass(5000)
    await owner.receive('tg', all.press('b/run/1'), 'p1')
    expect([all.done, all.told]).toEqual([[], [texts.notTaken, texts.notTaken]])
  })

  test('of the platform’s own Stop is not carried out late, and the chat is told so', async () => {
    const owner = await joinOwner({ lookMs: 3000 })
    void owner.receive('tg', stop, 's1')
    await all.pass(5000)
    expect([all.done, all.told]).toEqual([[], [`owner posts ${texts.notTaken}`]])
  })
})

test.each([
  ['that its owner received', true],
  ['at another member', false],
])('a press %s is not carried out late by an owner whose computer slept', async (_, isAtOwner) => {
  const { one } = await joinReceivers()
  const owner = await joinOwner({ lookMs: 100 })
  const received = (isAtOwner ? owner : one).receive('tg', all.press('b/run/1'), 'p1')
  await all.settle()
  all.clock.step(3000)
  await all.pass(2000)
  await received
  expect([all.done, all.told]).toEqual([[], [texts.notTaken]])
})

describe.each([
  ['that its owner received', true],
  ['at another member', false],
])('a press %s while it was suspended', (_, isAtOwner) => {
  /** A member that was suspended for that long. */
  async function suspendedFor(ms: number) {
    const { one } = await joinReceivers()
    const owner = await joinOwner()
    await all.pass(2000)
    all.clock.step(ms)
    const member = isAtOwner ? owner : one
    return async () => {
      const received = member.receive('tg', all.press('b/run/1'), 'p1')
      await all.pass(2000)
      await received
      return [all.done, all.told]
    }
  }
  const refused = [[], [texts.notTaken]]
  const done = [['owner pressed b/run/1'], ['Done: b/run/1']]

  test.each([3000, 600_000])('is not carried out after %i ms, and the person is told so', async (ms) => {
    const press = await suspendedFor(ms)
    expect(await press()).toEqual(refused)
  })

  test('is not carried out either if a timer ran before it was read', async () => {
    const press = await suspendedFor(3000)
    await all.pass(200)
    expect(await press()).toEqual(refused)
  })

  test.each([
    ['stalled again', 300, 0],
    ['stalled again for longer', 600, 0],
    ['noticed that it stalled again', 600, 250],
  ])('is not carried out either if the member %s before it was read', async (_, stallMs, laterMs) => {
    const press = await suspendedFor(3000)
    await all.pass(250)
    all.clock.step(stallMs)
    await all.pass(laterMs)
    expect(await press()).toEqual(refused)
  })

  test('is carried out if it came once the member did not stall any more', async () => {
    const press = await suspendedFor(3000)
    await all.pass(250)
    all.clock.step(600)
    await all.pass(1500)
    expect(await press()).toEqual(done)
  })

  test('is carried out at a member that stalls every two seconds, because it catches up in between', async () => {
    const press = await suspendedFor(3000)
    for (let times = 0; times < 3; times++) {
      await all.pass(2000)
      all.clock.step(600)
    }
    await all.pass(250)
    expect(await press()).toEqual(done)
  })

  test('is carried out if it is still in time', async () => {
    const press = await suspendedFor(600)
    expect(await press()).toEqual(done)
  })

  test.each([
    [1200, 1500],
    [3000, 2000],
  ])('is carried out if it came after that (%i ms, %i ms)', async (ms, laterMs) => {
    const press = await suspendedFor(ms)
    await all.pass(laterMs)
    expect(await press()).toEqual(done)
  })
})

test('a text that a member reads right after it was suspended was received when that began', async () => {
  const { one } = await joinReceivers()
  await all.pass(2000)
  all.clock.step(20_000)
  await one.receive('tg', all.text('1', 'yes'))
  const place = { channel: 'tg', chat: { id: '1' } }
  expect(await receivedAgoMs(createMemoryStore(all), place, { id: '1' })).toBeGreaterThanOrEqual(20_000)
})
