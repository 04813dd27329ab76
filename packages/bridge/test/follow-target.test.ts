import { emptyReply, type Observation, observerOf, type Reply } from '@reply/core'
import { expect, test } from 'vitest'
import { createMirrors } from '../src/config/mirrors.ts'
import { parseConfig } from '../src/config/parse.ts'
import { createPeople } from '../src/people/people.ts'
import type { ChatPlace } from '../src/place.ts'
import { createFollowers, createFollowRules } from '../src/runs/follow-target.ts'
import { passOn } from '../src/runs/show-run.ts'
import { followHint, toFollowHint } from '../src/state/follow-hint.ts'

const prompted = {
  ...emptyReply('ses_1'),
  promptIDs: ['msg_1'],
  prompt: { text: 'Go', files: [], parts: [{ type: 'text', id: 'prt_1', text: 'Go' }] },
} as Reply
const pending = { requestID: 'que_1', type: 'question', status: 'pending', questions: [] }
const asking = { ...prompted, asks: [pending] } as unknown as Reply
const ann: ChatPlace = { channel: 'tg', chat: { id: '1', kind: 'private' } }

type Rows = Record<string, unknown>

/** The rules with these rows of the state, and this entry of the server. */
function rulesOf(rows: Rows, server: object = {}, router: object = {}, mirrors = createMirrors([]), more: object = {}) {
  const config = parseConfig({
    servers: { home: { url: 'http://127.0.0.1:4096', directory: '/shop', ...server } },
    channels: { tg: { type: 'telegram', token: { env: 'TOKEN' } } },
    router,
    ...more,
  })
  return createFollowRules({
    state: {
      read: async (key) =>
        key in rows ? (typeof rows[key] === 'string' ? rows[key] : JSON.stringify(rows[key])) : undefined,
    },
    config,
    people: createPeople({
      ann: { ids: ['tg:1'], may: ['prompt', 'approve'] },
      bob: { ids: ['tg:2'], may: ['prompt'] },
    }),
    mirrors,
    hasChannel: (name) => name === 'tg',
  })
}

/** Looks with the same. */
async function targetOf(reply: Reply, ...given: Parameters<typeof rulesOf>) {
  return await rulesOf(...given).findTarget('home', reply)
}

const works = { 'session-chat/home/ses_1': ann }
const home = { homeChat: 'tg:-5/7' }

test('asks go to the chat that works with the session, else to the home chat, else nowhere, which is told unless the server follows nothing', async () => {
  expect(await targetOf(asking, works, home)).toEqual({ type: 'chat', place: ann, follows: 'asks' })
  expect(await targetOf(asking, {}, home)).toEqual({
    type: 'chat',
    place: { channel: 'tg', chat: { id: '-5', thread: '7' } },
    follows: 'asks',
  })
  expect(await targetOf(asking, {})).toEqual({ type: 'no-chat' })
  expect(await targetOf(asking, {}, { follow: 'none' })).toBeUndefined()
  expect(await targetOf(asking, {}, {}, { progress: { enabled: false } })).toBeUndefined()
  expect(await targetOf(prompted, {}, { follow: 'all' })).toBeUndefined()
})

/** The rows of a session that a person prompted last in this chat. No chat works with it. */
function promptedBy(id: string, chat: object): Record<string, unknown> {
  const prompt = { channel: 'tg', chat, actor: { id, name: 'Name' }, id: '1', messageRef: { id: '1' } }
  const more = { text: '', files: [], isCommand: false, receivedAt: 1 }
  const fields = { id: 'abc234', server: 'home', sessionID: 'ses_1', phase: 'done', status: 'complete', startedAt: 1 }
  return {
    'home/home/ses_1': '07',
    'newest/07/home/ses_1': { ...fields, prompt: { ...prompt, ...more }, isByApprovers: true },
  }
}

test('without such chats, asks go to the private chat where a person with `approve` prompted the session last', async () => {
  const hers = promptedBy('1', { id: '1', kind: 'private' })
  expect(await targetOf(asking, hers)).toEqual({ type: 'chat', place: ann, follows: 'asks' })
  expect(await targetOf(asking, hers, { follow: 'all' })).toEqual({ type: 'chat', place: ann, follows: 'asks' })
  expect(await targetOf(asking, hers, { follow: 'none' })).toBeUndefined()
  expect(await targetOf(asking, hers, home)).toMatchObject({ place: { chat: { id: '-5' } } })
  expect(await targetOf(asking, promptedBy('2', { id: '2', kind: 'private' }))).toEqual({ type: 'no-chat' })
  expect(await targetOf(asking, promptedBy('3', { id: '3', kind: 'private' }))).toEqual({ type: 'no-chat' })
  expect(await targetOf(asking, promptedBy('1', { id: '-7', kind: 'shared' }))).toEqual({ type: 'no-chat' })
  expect(await targetOf(asking, hers, {}, {}, createMirrors([['tg:1', 'tg:-7']]))).toEqual({ type: 'no-chat' })
})

test('without an ask there is nothing to show of a run, unless the chat follows all', async () => {
  expect(await targetOf(prompted, works)).toBeUndefined()
  expect(await targetOf(prompted, works, { follow: 'all' })).toEqual({ type: 'chat', place: ann, follows: 'all' })
  expect(await targetOf(asking, works, { follow: 'none' })).toBeUndefined()
  const route = { 'route/tg/1/': { server: 'home', follow: 'all' } }
  expect(await targetOf(prompted, { ...works, ...route }, { follow: 'none' })).toEqual({
    type: 'chat',
    place: ann,
    follows: 'all',
  })
})

test('a run is not followed if a chat wrote its prompt, if its chat shows it anyway, or if the chat is gone', async () => {
  expect(await targetOf(asking, { ...works, 'author/msg_1': 'tg:1' }, { follow: 'all' })).toBeUndefined()
  const background = { ...asking, prompt: undefined, promptIDs: [] } as Reply
  expect(await targetOf(background, { ...works, 'home/home/ses_1': '07' })).toBeUndefined()
  expect(await targetOf(background, works)).toEqual({ type: 'chat', place: ann, follows: 'asks' })
  expect(await targetOf(asking, { 'session-chat/home/ses_1': { channel: 'old', chat: { id: '1' } } })).toEqual({
    type: 'no-chat',
  })
})

test('a chat that can show nothing of the server any more is passed over', async () => {
  const gone = { 'session-chat/home/ses_1': { channel: 'old', chat: { id: '1' } } }
  const atHome = { type: 'chat', place: { channel: 'tg', chat: { id: '-5', thread: '7' } }, follows: 'asks' }
  expect(await targetOf(asking, gone, home)).toEqual(atHome)
  const servers = {
    home: { url: 'http://127.0.0.1:4096', directory: '/shop', ...home },
    wiki: { url: 'http://127.0.0.1:4097' },
  }
  const moved = { servers, routes: { tg: 'wiki' } }
  expect(await targetOf(asking, works, {}, {}, createMirrors([]), moved)).toEqual(atHome)
  const hers = promptedBy('1', { id: '1', kind: 'private' })
  const homeless = { servers: { ...servers, home: { ...servers.home, homeChat: undefined } }, routes: { tg: 'wiki' } }
  expect(await targetOf(asking, hers, {}, {}, createMirrors([]), homeless)).toEqual({ type: 'no-chat' })
})

test('what /follow told when the chat used another server does not count', async () => {
  const route = { 'route/tg/1/': { server: 'wiki', follow: 'none' } }
  expect(await targetOf(asking, { ...works, ...route })).toEqual({ type: 'chat', place: ann, follows: 'asks' })
})

test('what a chat follows is told by the same rules', async () => {
  const inSession = { server: 'home', sessionID: 'ses_1' }
  const scopeOf = async (place: ChatPlace, route: object, ...given: Parameters<typeof rulesOf>) =>
    await rulesOf(...given).scopeOf(place, { ...inSession, ...route })
  const own = { follow: 'asks', session: 'here', others: 'last', hasNoAsks: false }
  expect(await scopeOf(ann, {}, works)).toEqual(own)
  expect(await scopeOf(ann, {}, works, home)).toEqual({ ...own, others: 'elsewhere' })
  expect(await scopeOf(ann, {}, works, { homeChat: 'tg:1' })).toEqual({ ...own, others: 'here' })
  expect(await scopeOf(ann, { sessionID: undefined }, works)).toEqual({ ...own, session: 'none' })
  const group: ChatPlace = { channel: 'tg', chat: { id: '-7', kind: 'shared' } }
  expect(await scopeOf(group, {}, works)).toEqual({ ...own, session: 'elsewhere', others: 'none' })
  expect(await scopeOf(ann, {}, promptedBy('1', ann.chat))).toEqual({ ...own, session: 'none' })
  expect(await scopeOf(ann, {}, works, { follow: 'all' }, { progress: { enabled: false } })).toEqual({
    ...own,
    follow: 'all',
    hasNoAsks: true,
  })
})

test('a chat gets new requests of a run until another one has the session, or the chat follows nothing', async () => {
  const session = { server: 'home', sessionID: 'ses_1' }
  const where = async (rows: Rows, author?: string, ...more: [object?, object?, ReturnType<typeof createMirrors>?]) =>
    await rulesOf(rows, ...more).asksGo(ann, session, author)
  const bob = { 'session-chat/home/ses_1': { channel: 'tg', chat: { id: '2', kind: 'private' } } }
  expect([await where(works), await where(works, 'Name')]).toEqual(['here', 'here'])
  expect([await where(bob), await where({}), await where({}, undefined, home)]).toEqual([
    'elsewhere',
    'nowhere',
    'elsewhere',
  ])
  expect(await where(bob, undefined, {}, {}, createMirrors([['tg:1', 'tg:2']]))).toBe('here')
  expect(await where(works, undefined, { follow: 'none' })).toBe('nowhere')
  const hers = promptedBy('1', ann.chat)
  expect([await where(hers), await where(hers, 'Name')]).toEqual(['here', 'nowhere'])
})

test('a run of a chat that left its session is not followed, although its server makes the ids of prompts', async () => {
  const rows = promptedBy('3', { id: '-7', kind: 'shared' })
  const posted = { sessionID: 'ses_1', at: 1, after: 'msg_0', text: 'Go ' }
  const key = 'newest/07/home/ses_1'
  const going = { ...(rows[key] as object), phase: 'posting', status: 'running', posted }
  expect(await targetOf(asking, { ...rows, [key]: going })).toBeUndefined()
  expect(await targetOf(asking, { ...rows, [key]: going }, home)).toBeUndefined()
  const noChat = { type: 'no-chat' }
  expect(await targetOf(asking, { ...rows, [key]: { ...going, finishedAt: 2 } })).toEqual(noChat)
  expect(await targetOf(asking, { ...rows, [key]: { ...going, posted: { ...posted, text: 'Stop' } } })).toEqual(noChat)
  expect(await targetOf(asking, { ...rows, [key]: { ...going, posted: { ...posted, after: 'msg_1' } } })).toEqual(
    noChat,
  )
  const named = { ...posted, messageID: 'msg_2' }
  expect(await targetOf(asking, { ...rows, [key]: { ...going, posted: named } })).toEqual(noChat)
})

test('the asks of a run that another chat began go to the chat that has taken its session over since', async () => {
  const rows = promptedBy('1', { id: '-7', kind: 'shared' })
  const key = 'newest/07/home/ses_1'
  const posted = { sessionID: 'ses_1', at: 1, messageID: 'msg_1' }
  const run = { ...(rows[key] as object), posted }
  const going = { ...rows, [key]: run, 'author/msg_1': 'tg:1' }
  expect(await targetOf(asking, { ...going, ...works }, { follow: 'all' })).toEqual({
    ...{ type: 'chat', place: ann, follows: 'asks', author: 'Name' },
  })
  expect(await targetOf(prompted, { ...going, ...works }, { follow: 'all' })).toBeUndefined()
  expect(await targetOf(asking, { ...going, ...works }, { follow: 'none' })).toBeUndefined()
  // No chat has taken it over, and the run may be an earlier one.
  expect(await targetOf(asking, going, home)).toBeUndefined()
  const own = { 'session-chat/home/ses_1': { channel: 'tg', chat: { id: '-7', kind: 'shared' } } }
  expect(await targetOf(asking, { ...going, ...own })).toBeUndefined()
  const later = {
    ...going,
    ...works,
    'author/msg_1': 'tg:1',
    [key]: { ...run, posted: { ...posted, messageID: 'msg_2' } },
  }
  expect(await targetOf(asking, later)).toBeUndefined()
})

test('a bridge that shows no requests follows none', async () => {
  const router = { progress: { enabled: false } }
  expect(await targetOf(asking, works, {}, router)).toBeUndefined()
  expect(await targetOf(prompted, works, { follow: 'all' }, router)).toEqual({
    type: 'chat',
    place: ann,
    follows: 'all',
  })
})

test('it is looked for a target at the prompt and at each new ask, and once found, the rest is passed on in order', async () => {
  const looked: string[] = []
  const passed: string[] = []
  const observer = createFollowers(
    async (reply) => {
      looked.push(reply.asks.map(({ requestID }) => requestID).join() || 'prompt')
      return looked.length < 3 ? undefined : observerOf(({ type }) => void passed.push(type))
    },
    (error) => {
      throw error
    },
  ).observe()
  const see = (reply: Reply, type = 'partChanged'): void => passOn(observer, { type, reply } as unknown as Observation)
  const rest = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve))
  see(emptyReply('ses_1'))
  see(prompted)
  await rest()
  see(prompted)
  await rest()
  see(asking)
  await rest()
  const both = { ...asking, asks: [pending, { ...pending, requestID: 'que_2' }] } as unknown as Reply
  see(both)
  see(both, 'partAdded')
  await rest()
  see(prompted, 'replySettled')
  await rest()
  expect([looked, passed]).toEqual([
    ['prompt', 'que_1', 'que_1,que_2'],
    ['partAdded', 'replySettled'],
  ])
})

test('a reply that was opened for a prompt of the chat, and that the prompt of another client overtook, is looked at with that prompt', async () => {
  const looked: string[] = []
  let isTaken = false
  const observer = createFollowers(
    async ({ promptIDs: [id], prompt }) => {
      looked.push(`${id} ${prompt?.text}`)
      return isTaken ? {} : undefined
    },
    (error) => {
      throw error
    },
  ).observe()
  const see = async (reply: object): Promise<void> => {
    passOn(observer, { type: 'phaseChanged', reply: { ...emptyReply('ses_1'), ...reply } } as unknown as Observation)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const own = { text: 'Mine', files: [], parts: [] }
  await see({ prompt: own })
  isTaken = true
  await see({ prompt: own, promptIDs: ['msg_2'] })
  expect(looked).toEqual([])
  await see({ prompt: { text: 'Theirs', files: [], parts: [{ id: 'prt_2' }] }, promptIDs: ['msg_2'] })
  expect(looked).toEqual(['msg_2 Theirs'])
})

test('an open reply is looked at again on request: with its session or if it waits also if it is followed, otherwise only if it is not', async () => {
  const looked: string[] = []
  let follower: object | undefined
  const followers = createFollowers(
    async ({ sessionID }) => {
      looked.push(sessionID)
      return follower
    },
    (error) => {
      throw error
    },
  )
  const observer = followers.observe()
  const see = async (reply: Reply): Promise<void> => {
    passOn(observer, { type: 'phaseChanged', reply } as unknown as Observation)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const again = async (sessionID?: string): Promise<number> => {
    followers.lookAgain(sessionID)
    await new Promise((resolve) => setImmediate(resolve))
    return looked.length
  }
  await see(asking)
  expect([looked.length, await again('ses_2'), await again(), await again('ses_1')]).toEqual([1, 1, 2, 3])
  follower = {}
  expect([await again(), await again(), await again('ses_1')]).toEqual([4, 5, 6])
  const prompt = { text: 'Theirs', files: [], parts: [{ id: 'prt_2' }] }
  await see({ ...asking, phase: 'working', asks: [], prompt } as unknown as Reply)
  expect([await again(), await again('ses_1')]).toEqual([6, 7])
  await see({ ...asking, phase: 'settled' })
  expect(await again('ses_1')).toBe(7)
})

test('the hint to look again has the server and the session', () => {
  expect(toFollowHint(followHint('a/b', 'ses/1', 'ses/2'))).toEqual([
    { server: 'a/b', sessionID: 'ses/1' },
    { server: 'a/b', sessionID: 'ses/2' },
  ])
  expect(toFollowHint(followHint('home'))).toEqual([{ server: 'home' }])
  expect(toFollowHint('wake/07')).toEqual([])
})
