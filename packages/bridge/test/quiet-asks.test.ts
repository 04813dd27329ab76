import { emptyReply, type Reply } from '@reply/core'
import { PortError, type PortErrorType } from '@reply/sink/channel'
import { createHandClock, type HandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { quietAsks } from '../src/asks/quiet-asks.ts'
import type { ChatMessage } from '../src/chats/channels.ts'
import { createPeople } from '../src/people/people.ts'
import type { ChatPlace } from '../src/place.ts'
import type { Execution } from '../src/state/execution.ts'
import type { Store, Write } from '../src/store/store.ts'
import { createMemoryStore } from '../src/testing.ts'
import { createTimers, type Timers } from '../src/timers.ts'
import { stateOf } from './state-of.ts'

const ask = {
  type: 'question',
  requestID: 'que_1',
  sessionID: 's1',
  directory: '/shop',
  path: [],
  status: 'pending',
  askedAt: 1,
  questions: [{ header: 'Colour', question: 'Which?', options: [], multiple: false, custom: true }],
} as const
const [second, third] = [
  { ...ask, requestID: 'que_2' },
  { ...ask, requestID: 'que_3' },
]
const asking: Reply = { ...emptyReply('s1'), phase: 'blocked', asks: [ask] }

const own: ChatPlace = { channel: 'tg', chat: { id: '1' } }
const toldKey = 'told/que_1/tg/1/'

type PostOfAsk = 'made' | 'failed' | undefined

/** Starts a process that follows the run. Resolves with what is stored of the ask before each post, and what it does. */
function startProcess(
  clock: HandClock,
  store: Store,
  post: (nth: number, place: ChatPlace, note: ChatMessage) => Promise<void>,
  {
    places = [own],
    followed = 'asks',
    timers = createTimers(clock),
    asked = asking,
    postOf = () => 'made',
  }: {
    places?: readonly ChatPlace[]
    followed?: Execution['followed']
    timers?: Timers | undefined
    readonly asked?: Reply
    /** What came of the post of an ask. */
    readonly postOf?: (requestID: string) => PostOfAsk | Promise<PostOfAsk>
  } = {},
): {
  readonly posts: (string | undefined)[]
  readonly errors: Error[]
  readonly end: () => void
  /** Changes which asks are pending. */
  readonly update: (asks: Reply['asks']) => void
} {
  const posts: (string | undefined)[] = []
  const errors: Error[] = []
  const state = stateOf(store)
  const observer = quietAsks(
    {
      channels: {
        postOfAsk: async (_place, requestID) => await postOf(requestID),
        post: async (place, note, _session, done: readonly Write[] = []) => {
          posts.push(await store.read(toldKey))
          await post(posts.length, place, note)
          await state.commit(done)
          return [{ id: '1' }]
        },
      },
      people: createPeople({
        ann: { ids: ['tg:1', 'sl:U1'], may: ['approve'] },
        bob: { ids: ['sl:U2'], may: ['prompt'] },
      }),
      ...{ state, clock, config: { router: { quietMs: 10_000 } }, onError: (error) => void errors.push(error) },
    },
    {
      ...{ places, server: 'home', origin: 'From the terminal' },
      execution: () => ({ followed, prompt: { channel: 'tg', actor: { id: '', name: '' } } }) as Execution,
    },
    timers,
  )
  observer.replyStarted?.({ type: 'replyStarted', reply: asked })
  const end = (): void => void observer.replySettled?.({ type: 'replySettled', outcome: 'completed', reply: settled })
  const update = (asks: Reply['asks']): void =>
    void observer.askChanged?.({ type: 'askChanged', ask, reply: { ...asking, asks } })
  return { posts, errors, end, update }
}

const settled: Reply = { ...asking, phase: 'settled', outcome: 'completed', asks: [] }
const forEver = async (): Promise<void> => await new Promise(() => {})
const fail = async (type: PortErrorType): Promise<void> => await Promise.reject(new PortError(type, `It is ${type}.`))

/** Lets time pass in seconds. */
async function passes(clock: HandClock, seconds: number): Promise<void> {
  for (let nth = 0; nth < seconds; nth++) {
    await clock.advance(1000)
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

function createStage() {
  const clock = createHandClock()
  return { clock, store: createMemoryStore({ clock }) }
}

test('that a chat was told is stored with its message, not before', async () => {
  const { clock, store } = createStage()
  const first = startProcess(clock, store, async () => {})
  await passes(clock, 10)
  expect([first.posts, await store.read(toldKey)]).toEqual([['1'], '"told"'])
  const next = startProcess(clock, store, async () => {})
  await passes(clock, 60)
  expect([first.posts.length, next.posts]).toEqual([1, []])
})

test('a process that ended while it told the chat counts as a post without a result, and two are the most', async () => {
  const { clock, store } = createStage()
  const all: (string | undefined)[] = []
  for (let nth = 1; nth <= 3; nth++) {
    const { posts } = startProcess(clock, store, forEver)
    await passes(clock, 20)
    all.push(...posts)
  }
  expect(all).toEqual(['1', '2'])
})

test('a post without a result is repeated once', async () => {
  const { clock, store } = createStage()
  const { posts, errors } = startProcess(clock, store, async () => await fail('ambiguous'))
  await passes(clock, 120)
  expect([posts, errors.map(({ message }) => message)]).toEqual([['1', '2'], ['It is ambiguous.']])
})

test('a platform that can’t be reached is asked until it takes the message', async () => {
  const { clock, store } = createStage()
  const { posts, errors } = startProcess(clock, store, async (nth) => await (nth < 5 ? fail('unreachable') : undefined))
  await passes(clock, 120)
  expect([posts, errors.length, await store.read(toldKey)]).toEqual([['1', '1', '1', '1', '1'], 1, '"told"'])
})

test('an ask that is over is not told again, nor in a chat that refuses it', async () => {
  const { clock, store } = createStage()
  const { posts, end } = startProcess(clock, store, async () => await fail('unreachable'))
  await passes(clock, 10)
  end()
  await passes(clock, 120)
  expect([posts, await store.read(toldKey)]).toEqual([['1'], undefined])
  const refused = startProcess(clock, store, async () => await fail('refused'))
  await passes(clock, 120)
  expect([refused.posts, await store.read(toldKey)]).toEqual([['1'], '"told"'])
})

test('a request that comes after one was told is told once it has waited by itself, also while the first one waits', async () => {
  const { clock, store } = createStage()
  const { posts, update } = startProcess(clock, store, async () => {})
  await passes(clock, 5)
  update([ask, second])
  await passes(clock, 7)
  // One message for both.
  expect([posts.length, await store.read('told/que_2/tg/1/')]).toEqual([1, '"told"'])
  update([ask, second, third])
  await passes(clock, 9)
  expect(posts.length).toBe(1)
  await passes(clock, 1)
  expect(posts.length).toBe(2)
  await passes(clock, 60)
  expect([posts.length, await store.read('told/que_3/tg/1/')]).toEqual([2, '"told"'])
})

test('a request that comes while the chat is being told is told by itself', async () => {
  const { clock, store } = createStage()
  let finish = (): void => {}
  const isPosted = new Promise<void>((resolve) => {
    finish = resolve
  })
  const { posts, update } = startProcess(clock, store, async () => await isPosted)
  await passes(clock, 10)
  update([ask, second])
  await passes(clock, 60)
  expect(posts.length).toBe(1)
  finish()
  await passes(clock, 60)
  expect(posts.length).toBe(2)
})

test('a request waits from when it came, also if the one before it is answered meanwhile', async () => {
  const { clock, store } = createStage()
  const { posts, update } = startProcess(clock, store, async () => {})
  await passes(clock, 5)
  update([ask, second])
  await passes(clock, 3)
  update([second])
  await passes(clock, 6)
  expect(posts).toEqual([])
  await passes(clock, 1)
  expect(posts.length).toBe(1)
})

test('after a restart, what was told stays silent, and each other request has its own time', async () => {
  const { clock, store } = createStage()
  const first = startProcess(clock, store, async () => {})
  await passes(clock, 12)
  first.end()
  const next = startProcess(clock, store, async () => {}, { asked: { ...asking, asks: [ask, second] } })
  await passes(clock, 5)
  next.update([ask, second, third])
  await passes(clock, 4)
  expect(next.posts).toEqual([])
  await passes(clock, 2)
  expect([next.posts.length, await store.read('told/que_3/tg/1/')]).toEqual([1, '"told"'])
  next.end()
  const last = startProcess(clock, store, async () => {})
  await passes(clock, 5)
  last.update([ask, { ...ask, requestID: 'que_4' }])
  await passes(clock, 9)
  expect(last.posts).toEqual([])
  await passes(clock, 1)
  expect(last.posts.length).toBe(1)
})

test('an ask that the chat refuses to be told of does not keep back one that comes later', async () => {
  const { clock, store } = createStage()
  const post = async (nth: number): Promise<void> => await (nth === 1 ? fail('refused') : undefined)
  const { posts, update } = startProcess(clock, store, post)
  await passes(clock, 10)
  update([ask, second])
  await passes(clock, 10)
  expect([posts.length, await store.read('told/que_2/tg/1/')]).toEqual([2, '"told"'])
})

test.each(['read', 'postOf', 'commit'] as const)(
  'a request that is answered while the %s before the message hangs is not told',
  async (hanging) => {
    /** Starts a process that tells of a first request and of others. It hangs until the pending ones are replaced. */
    const replaceMeanwhile = async (asked: Reply['asks'], added: Reply['asks'], left: Reply['asks']) => {
      const { clock, store } = createStage()
      let release = (): void => {}
      const isReleased = new Promise<void>((resolve) => {
        release = resolve
      })
      const hang = async (name: typeof hanging): Promise<void> => (name === hanging ? await isReleased : undefined)
      let commits = 0
      const slow: Store = {
        ...store,
        read: async (key) => await hang('read').then(async () => await store.read(key)),
        commit: async (...args) => {
          commits++
          return await hang('commit').then(async () => await store.commit(...args))
        },
      }
      const postOf = async () => await hang('postOf').then(() => 'made' as const)
      const { posts, update } = startProcess(clock, slow, async () => {}, { asked: { ...asking, asks: asked }, postOf })
      await passes(clock, 5)
      update([...asked, ...added])
      await passes(clock, 6)
      update(left)
      release()
      await passes(clock, 0)
      return {
        clock,
        posts,
        commits: () => commits,
        read: async () => [await store.read(toldKey), await store.read('told/que_2/tg/1/')],
      }
    }
    const answered = await replaceMeanwhile([ask], [], [])
    await passes(answered.clock, 60)
    expect([answered.posts.length, await answered.read()]).toEqual([0, [undefined, undefined]])
    // What began is put back. Otherwise nothing begins.
    expect(answered.commits()).toBe(hanging === 'commit' ? 2 : 0)
    // The other one waits for its own time.
    const later = await replaceMeanwhile([ask], [second], [second])
    await passes(later.clock, 3)
    expect([later.posts.length, await later.read()]).toEqual([0, [undefined, undefined]])
    await passes(later.clock, 1)
    expect([later.posts.length, await later.read()]).toEqual([1, [undefined, '"told"']])
    const together = await replaceMeanwhile([ask, second], [], [second])
    await passes(together.clock, 1)
    expect([together.posts.length, await together.read()]).toEqual([1, [undefined, '"told"']])
  },
)

test('a request does not wait for one before it that is not posted yet, nor is told earlier because of it', async () => {
  const { clock, store } = createStage()
  let postOfFirst: PostOfAsk
  const postOf = (requestID: string) => (requestID === 'que_1' ? postOfFirst : 'made')
  const { posts, update } = startProcess(clock, store, async () => {}, { postOf })
  await passes(clock, 12)
  update([ask, second])
  await passes(clock, 9)
  expect(posts.length).toBe(0)
  await passes(clock, 1)
  expect(posts.length).toBe(1)
  // The first one is asked for each minute by now.
  await passes(clock, 120)
  update([ask, second, third])
  await passes(clock, 9)
  expect(posts.length).toBe(1)
  await passes(clock, 1)
  expect(posts.length).toBe(2)
  postOfFirst = 'made'
  await passes(clock, 60)
  expect([posts.length, await store.read(toldKey)]).toEqual([3, '"told"'])
})

test('a message for several requests that fails unexpectedly is repeated for none of them', async () => {
  const { clock, store } = createStage()
  const { posts, errors, update } = startProcess(clock, store, async () => await Promise.reject(new Error('Broken.')))
  await passes(clock, 5)
  update([ask, second])
  await passes(clock, 60)
  expect([posts.length, errors.map(({ message }) => message)]).toEqual([1, ['Broken.']])
})

test('requests that are told together are tried again together', async () => {
  const { clock, store } = createStage()
  const post = async (nth: number): Promise<void> => await (nth < 4 ? fail('unreachable') : undefined)
  const asked = { ...asking, asks: [ask, second] }
  const { posts, errors } = startProcess(clock, store, post, { asked })
  await passes(clock, 12)
  expect(posts.length).toBe(2)
  await passes(clock, 60)
  expect([posts.length, errors.length, await store.read('told/que_2/tg/1/')]).toEqual([4, 1, '"told"'])
})

test('each mirror is told once, with those who may answer as mentions where others are too', async () => {
  const { clock, store } = createStage()
  const told: string[] = []
  const places = [own, { channel: 'sl', chat: { id: 'C1', kind: 'shared' } } as const, { ...own, chat: { id: '-100' } }]
  const post = async (_nth: number, { channel, chat }: ChatPlace, { mentions = [] }: ChatMessage): Promise<void> => {
    told.push(`${channel} ${chat.id} ${mentions.map(({ id }) => id).join()}`.trim())
    if (told.length === 2) await fail('unreachable')
  }
  startProcess(clock, store, post, { places })
  await passes(clock, 60)
  expect(told.slice(0, 3)).toEqual(['tg 1', 'sl C1 U1', 'tg -100 1'])
  expect(told.slice(3)).toEqual(['sl C1 U1'])
  startProcess(clock, store, post, { places })
  await passes(clock, 60)
  expect(told).toHaveLength(4)
})

test('each of two chats that follow the same run is told, in one process and in two', async () => {
  for (const isOneProcess of [true, false]) {
    const { clock, store } = createStage()
    const told: string[] = []
    const post = async (_nth: number, { chat }: ChatPlace): Promise<void> => void told.push(chat.id)
    const timers = isOneProcess ? createTimers(clock) : undefined
    for (const id of ['1', '2']) startProcess(clock, store, post, { places: [{ channel: 'tg', chat: { id } }], timers })
    await passes(clock, 60)
    expect(told).toEqual(['1', '2'])
  }
})

test('an ask that was posted loudly, because a prompt of the chat had joined the run, is not told again', async () => {
  const { clock, store } = createStage()
  const { posts } = startProcess(clock, store, async () => {}, { followed: 'joined' })
  await passes(clock, 60)
  expect(posts).toEqual([])
})

test('an ask that the platform refused is not said to be above, and one that is not posted yet is told later', async () => {
  const posts = new Map<string, 'made' | 'failed'>()
  const told: string[] = []
  const tell = async (asked: Reply): Promise<HandClock> => {
    const { clock, store } = createStage()
    const postOf = (requestID: string) => posts.get(requestID)
    startProcess(clock, store, async (_nth, _place, { text }) => void told.push(text), { asked, postOf })
    await passes(clock, 30)
    return clock
  }
  posts.set('que_1', 'failed')
  await tell(asking)
  const clock = await tell({ ...asking, asks: [{ ...ask, requestID: 'que_3' }] })
  posts.set('que_2', 'made')
  await tell({ ...asking, asks: [ask, second] })
  const [unshown, shown] = [
    '⏳ From the terminal: a request waits for an answer. It could not be shown here.',
    '⏳ From the terminal: the request above waits for an answer.',
  ]
  expect(told).toEqual([unshown, shown])
  posts.set('que_3', 'made')
  await passes(clock, 60)
  expect(told).toEqual([unshown, shown, shown])
})
