import { afterEach, expect, test } from 'vitest'
import type { BridgeEvent } from '../src/events/event.ts'
import { bridgeMetrics } from '../src/events/metrics.ts'
import type { Store, Write } from '../src/store/store.ts'
import { askIn, driven, posted, sessionID, shows, startDesk, stopDesk } from './desk-stage.ts'
import { keyOfChat, telegramChat } from './shard-rows.ts'

afterEach(stopDesk)

/** The numbers of buttons of the bot's messages with the words. */
const buttonsOf = (words: string, chat = 1) => posted(words, chat).map(({ buttons }) => buttons.flat().length)

test('a request of the desk is posted before any timer could run', async () => {
  const { clock, desk, rests } = await startDesk()
  const before = clock.now()
  askIn(desk(sessionID, 'Go'), 'one')
  await rests(shows('touch one'))
  expect(clock.now()).toBe(before)
})

test('no limit of the bridge ends a run of the desk or answers its request', async () => {
  const limits = { timeoutMs: 60_000, askTimeoutMs: 60_000 }
  const { clock, desk, passes } = await startDesk({ router: limits })
  const run = desk(sessionID, 'Go')
  const answers = askIn(run, 'one')
  await passes(shows('touch one'))
  await clock.advance(600_000)
  await passes(() => false, 1000)
  expect([run.isOpen(), answers]).toEqual([true, []])
  run.closeAsk('one')
  await clock.advance(600_000)
  await passes(() => false, 1000)
  expect(run.isOpen()).toBe(true)
  run.end({ type: 'completed' })
})

test('events tell that a run was started elsewhere, where its request was answered, and that one has no chat', async () => {
  const events: BridgeEvent[] = []
  const { desk, passes, telegram } = await startDesk({ observers: [(event) => events.push(event)] })
  const run = desk(sessionID, 'Go')
  const answers = askIn(run, 'one')
  await passes(shows('touch one'))
  const { settled } = telegram.press(1, posted('touch one')[0]?.messageId ?? 0, 'Allow once')
  await passes(() => answers.length > 0)
  await settled
  askIn(run, 'two')
  await passes(shows('touch two'))
  run.closeAsk('two')
  run.end({ type: 'completed' })
  askIn(desk('ses_desk', 'Go'), 'three')
  await passes(() => events.some(({ type }) => type === 'unshown'))
  const asks = events.filter((event) => event.type === 'ask' && event.phase !== 'asked')
  expect(asks).toMatchObject([
    { started: 'elsewhere', requestID: 'one', phase: 'answered', actorID: '1' },
    { started: 'elsewhere', requestID: 'two', phase: 'withdrawn', actorID: undefined },
  ])
  expect(events.filter((event) => event.type === 'run' && event.phase === 'ended')).toMatchObject([
    { started: 'chat' },
    { started: 'elsewhere' },
  ])
  expect(events.filter(({ type }) => type === 'unshown')).toMatchObject([{ requestID: 'three', sessionID: 'ses_desk' }])
})

test('the person at the desk is not rung, until a request has waited for `quietMs`', async () => {
  const { clock, desk, passes } = await startDesk({ router: { quietMs: 10_000 } })
  const run = desk(sessionID, 'Go')
  const began = clock.now()
  askIn(run, 'one')
  await passes(shows('touch one'))
  expect(posted('touch one').map(({ isSilent }) => isSilent)).toEqual([true])
  await passes(shows('waits for an answer'))
  expect(clock.now() - began).toBeGreaterThanOrEqual(10_000)
  expect(posted('waits for an answer').map(({ isSilent }) => isSilent)).toEqual([false])
  run.closeAsk('one')
  askIn(run, 'two')
  await passes(shows('touch two'))
  run.closeAsk('two')
  await passes(() => false, 1000)
  expect(posted('waits for an answer')).toHaveLength(1)
  run.end({ type: 'completed' })
})

test('a session of another directory is not shown, and one of the configured directory is, in the home chat', async () => {
  const { desk, passes } = await startDesk({ server: { directory: '/shop', homeChat: 'telegram:2' } })
  askIn(desk('ses_other', 'Go', '/private'), 'hidden')
  askIn(desk('ses_shop', 'Go', '/shop'), 'open')
  await passes(shows('touch open', 2))
  await passes(() => false, 1000)
  expect([posted('touch hidden', 1), posted('touch hidden', 2), posted('touch open', 1)]).toEqual([[], [], []])
})

test('a request of the desk is shown once in each of two chats that mirror each other', async () => {
  const mirrors = [['telegram:1', 'telegram:2']]
  const { desk, passes } = await startDesk({ mirrors, server: { directory: '/shop', homeChat: 'telegram:2' } })
  const run = desk('ses_shop', 'Go', '/shop')
  const answers = askIn(run, 'one')
  await passes(() => shows('touch one', 1)() && shows('touch one', 2)())
  await passes(() => false, 1000)
  expect([posted('touch one', 1).length, posted('touch one', 2).length]).toEqual([1, 1])
  const [message] = posted('touch one', 1)
  const pressed = driven?.telegram.press(1, message?.messageId ?? 0, 'Allow once')
  await passes(() => answers.length > 0)
  await pressed?.settled
  await passes(() => [1, 2].every((chat) => posted('touch one', chat).every(({ buttons }) => buttons.length === 0)))
  expect(answers).toEqual(['once'])
  expect([1, 2].map((chat) => posted('touch one', chat).map(({ buttons }) => buttons.length))).toEqual([[0], [0]])
  run.end({ type: 'completed' })
})

test('sessions of the desk are listed and taken over with `approve` alone', async () => {
  const { desk, passes, telegram } = await startDesk({ server: { directory: '/shop' } })
  desk('ses_desk', 'Go', '/shop').end({ type: 'completed' })
  telegram.say(2, '/sessions', { from: { id: 2, name: 'Bob' } })
  await passes(() => driven?.said(2).length === 1)
  telegram.say(2, '/switch ses_desk', { from: { id: 2, name: 'Bob' } })
  await passes(() => driven?.said(2).length === 2)
  expect(driven?.said(2)).toEqual([
    'This chat has no sessions yet.',
    '“ses_desk” is not a session of this chat. /sessions lists them.',
  ])
  telegram.say(1, '/switch ses_desk')
  await passes(shows('now continues'))
  askIn(desk('ses_desk', 'Again', '/shop'), 'mine')
  await passes(shows('touch mine'))
  expect([posted('touch mine').length, posted('touch mine', 2).length]).toEqual([1, 0])
})

test('a session is listed to others with `approve` once its chat has left it, but not in a group', async () => {
  const group = -1_001_000_001_234
  const people = {
    ann: { ids: ['telegram:1'], may: ['prompt', 'approve'] },
    bob: { ids: ['telegram:2'], may: ['approve'] },
  } as const
  const { passes, said, telegram } = await startDesk({ server: { directory: '/shop' }, people, groups: [group] })
  const from = { id: 2, name: 'Bob' }
  const listedIn = async (chat: number): Promise<string | undefined> => {
    const before = said(chat).length
    telegram.say(chat, chat < 0 ? '/sessions@fake_bot' : '/sessions', { from })
    await passes(() => said(chat).length > before)
    return said(chat).at(-1)
  }
  const none = 'This chat has no sessions yet.'
  expect(await listedIn(2)).toBe(none)
  telegram.say(1, '/new')
  await passes(shows('new session'))
  expect(await listedIn(2)).toMatch(/^Sessions.*\n\n1\. /s)
  expect(await listedIn(group)).toBe(none)
  telegram.say(2, `/switch ${sessionID}`, { from })
  await passes(shows('now continues', 2))
  expect(posted('now continues', 2)).toHaveLength(1)
})

test('a request that waits is shown once the chat takes its session over, or follows requests again', async () => {
  const { desk, passes, telegram } = await startDesk({ server: { directory: '/shop' } })
  const other = desk('ses_desk', 'Go', '/shop')
  askIn(other, 'early')
  await passes(() => false, 1000)
  expect(posted('touch early')).toEqual([])
  telegram.say(1, '/switch ses_desk')
  await passes(shows('touch early'))
  telegram.say(1, '/follow none')
  await passes(shows('shows nothing of runs'))
  other.closeAsk('early')
  other.end({ type: 'completed' })
  const next = desk('ses_desk', 'Again', '/shop')
  askIn(next, 'hidden')
  await passes(() => false, 1000)
  expect(posted('touch hidden')).toEqual([])
  telegram.say(1, '/follow asks')
  await passes(shows('touch hidden'))
  await passes(() => false, 1000)
  expect([posted('touch early').length, posted('touch hidden').length]).toEqual([1, 1])
  next.end({ type: 'completed' })
})

test('a chat that takes a session over also shows the request that the home chat shows, and the first answer closes both', async () => {
  const { desk, passes, telegram } = await startDesk({ server: { directory: '/shop', homeChat: 'telegram:2' } })
  const run = desk('ses_desk', 'Go', '/shop')
  const answers = askIn(run, 'one')
  await passes(shows('touch one', 2))
  telegram.say(1, '/switch ses_desk')
  await passes(shows('touch one'))
  await passes(() => shows('waits for an answer', 1)() && shows('waits for an answer', 2)())
  expect([1, 2].map((chat) => posted('waits for an answer', chat).length)).toEqual([1, 1])
  const { settled } = telegram.press(1, posted('touch one')[0]?.messageId ?? 0, 'Allow once')
  await passes(() => answers.length > 0)
  await settled
  await passes(() => [1, 2].every((chat) => posted('touch one', chat).every(({ buttons }) => buttons.length === 0)))
  expect(answers).toEqual(['once'])
  expect([1, 2].map((chat) => posted('touch one', chat).map(({ buttons }) => buttons.length))).toEqual([[0], [0]])
  run.end({ type: 'completed' })
})

test('/follow names the sessions to which it applies', async () => {
  const { passes, telegram } = await startDesk({ server: { directory: '/shop', follow: 'all' } })
  const said = (): string => driven?.said(1).at(-1) ?? ''
  telegram.say(1, '/follow')
  await passes(() => said().includes('/follow asks'))
  expect(said()).toContain(
    'It applies to the session that this chat works with. Of other sessions, it shows the requests alone',
  )
  telegram.say(1, '/new')
  await passes(() => said().includes('new session'))
  telegram.say(1, '/follow all')
  await passes(() => said().includes('with what was asked'))
  expect(said()).toContain('It applies to the next session that this chat begins or switches to.')
})

test('/follow leaves a run that the chat already follows as it is, and says so, but with none it gets no new requests', async () => {
  const { desk, passes, telegram } = await startDesk()
  const run = desk(sessionID, 'Go')
  askIn(run, 'one')
  await passes(shows('touch one'))
  telegram.say(1, '/follow all')
  await passes(shows('with what was asked'))
  telegram.say(1, '/follow asks')
  await passes(shows('shows the questions'))
  telegram.say(1, '/follow none')
  await passes(shows('shows nothing of runs'))
  askIn(run, 'two')
  await passes(() => false, 1000)
  const goesOn = (words: string) => posted(words).map(({ text }) => text.includes('already follows go on as before'))
  expect(goesOn('with what was asked')).toEqual([true])
  expect(goesOn('shows the questions')).toEqual([false])
  expect(posted('shows nothing of runs').map(({ text }) => /go on/.test(text))).toEqual([false])
  expect(buttonsOf('touch one')).toEqual([2])
  expect(posted('touch two')).toEqual([])
  telegram.say(1, '/follow asks')
  await passes(shows('touch two'))
  expect([buttonsOf('touch one'), buttonsOf('touch two')]).toEqual([[2], [2]])
  run.end({ type: 'completed' })
})

test('a run that the chat shows whole goes on after /follow none, without new requests, and the chat says so', async () => {
  const { desk, passes, telegram } = await startDesk({ server: { follow: 'all' } })
  const run = desk(sessionID, 'Go')
  await passes(shows('From the terminal'))
  telegram.say(1, '/follow none')
  await passes(shows('shows nothing of runs'))
  expect(posted('shows nothing of runs').map(({ text }) => text.includes('without new requests'))).toEqual([true])
  askIn(run, 'one')
  run.closeAsk('one')
  run.write({ type: 'text', delta: 'It is built.' })
  run.end({ type: 'completed' })
  await passes(shows('It is built.'))
  expect(posted('touch one')).toEqual([])
})

test('a new request reaches only the chat that has the session by then, and what waits is withdrawn in the other', async () => {
  const group = -1_001_000_001_234
  const { desk, passes, telegram } = await startDesk({
    server: { directory: '/shop', homeChat: 'telegram:2' },
    mirrors: [['telegram:2', `telegram:${group}`]],
    groups: [group],
  })
  const buttonsIn = (words: string) => [1, 2, group].map((chat) => buttonsOf(words, chat).join())
  const isSo = (words: string, ...buttons: readonly string[]) => buttonsIn(words).join() === buttons.join()
  desk('ses_desk', 'Go', '/shop').end({ type: 'completed' })
  telegram.say(1, '/switch ses_desk')
  await passes(shows('now continues'))
  const run = desk('ses_desk', 'Again', '/shop')
  askIn(run, 'one')
  await passes(() => isSo('touch one', '2', '', ''))
  telegram.say(1, '/new')
  await passes(() => isSo('touch one', '2', '2', '2'))
  askIn(run, 'two')
  await passes(() => isSo('touch one', '0', '2', '2') && isSo('touch two', '', '2', '2'))
  await passes(() => false, 1000)
  expect([buttonsIn('touch one'), buttonsIn('touch two')]).toEqual([
    ['0', '2', '2'],
    ['', '2', '2'],
  ])
  // It has left the run, which goes on.
  telegram.say(1, '/stop')
  await passes(shows('Nothing is running here'))
  telegram.say(1, '/switch ses_desk')
  await passes(() => isSo('touch one', '2', '2', '2') && isSo('touch two', '2', '2', '2'))
  const answers = askIn(run, 'three')
  await passes(() => isSo('touch two', '2', '0', '0') && isSo('touch three', '2', '', ''))
  await passes(() => false, 1000)
  expect(['touch one', 'touch two', 'touch three'].map(buttonsIn)).toEqual([
    ['2', '0', '0'],
    ['2', '0', '0'],
    ['2', '', ''],
  ])
  const { settled } = telegram.press(1, posted('touch three')[0]?.messageId ?? 0, 'Allow once')
  await passes(() => answers.length > 0)
  await settled
  expect(answers).toEqual(['once'])
  run.end({ type: 'completed' })
})

test.each(['/switch ses_other', '/fork'])(
  'a chat that leaves its session with %s gives up its requests until it comes back',
  async (command) => {
    const fork = async () => ({ sessionID: 'ses_copy', directory: '/shop', title: 'A copy' })
    const { desk, passes, telegram } = await startDesk({
      server: { directory: '/shop', homeChat: 'telegram:2' },
      changed: (client) => ({ ...client, fork }),
    })
    for (const id of ['ses_desk', 'ses_other']) desk(id, 'Go', '/shop').end({ type: 'completed' })
    const isSo = (words: string, ...buttons: readonly string[]) =>
      [1, 2].map((chat) => buttonsOf(words, chat).join()).join('|') === buttons.join('|')
    telegram.say(1, '/switch ses_desk')
    await passes(shows('now continues'))
    const run = desk('ses_desk', 'Again', '/shop')
    askIn(run, 'one')
    await passes(() => isSo('touch one', '2', ''))
    // It stays in its session.
    telegram.say(1, '/switch ses_desk')
    await passes(() => posted('now continues').length === 2)
    askIn(run, 'two')
    await passes(() => isSo('touch two', '2', ''))
    telegram.say(1, command)
    await passes(() => isSo('touch one', '2', '2') && isSo('touch two', '2', '2'))
    askIn(run, 'three')
    await passes(() => isSo('touch one', '0', '2') && isSo('touch three', '', '2'))
    telegram.say(1, '/switch ses_desk')
    await passes(() => isSo('touch three', '2', '2'))
    askIn(run, 'four')
    await passes(() => isSo('touch three', '2', '0') && isSo('touch four', '2', ''))
    await passes(() => false, 1000)
    expect(
      ['one', 'two', 'three', 'four'].map((id) => [1, 2].map((chat) => buttonsOf(`touch ${id}`, chat).join())),
    ).toEqual([
      ['2', '0'],
      ['2', '0'],
      ['2', '0'],
      ['2', ''],
    ])
    run.end({ type: 'completed' })
  },
)

test.each(['/switch ses_other', '/fork'])(
  '%s takes no request from another chat that has taken the session over',
  async (command) => {
    const fork = async () => ({ sessionID: 'ses_copy', directory: '/shop', title: 'A copy' })
    const { desk, passes, telegram } = await startDesk({
      server: { directory: '/shop' },
      people: {
        ann: { ids: ['telegram:1'], may: ['prompt', 'approve', 'admin'] },
        bob: { ids: ['telegram:2'], may: ['approve', 'admin'] },
      },
      changed: (client) => ({ ...client, fork }),
    })
    for (const id of ['ses_desk', 'ses_other']) desk(id, 'Go', '/shop').end({ type: 'completed' })
    telegram.say(1, '/switch ses_desk')
    await passes(shows('now continues'))
    telegram.say(2, '/switch ses_desk', { from: { id: 2, name: 'Bob' } })
    await passes(shows('now continues', 2))
    telegram.say(1, command)
    await passes(() => posted('continues').length === 2)
    const run = desk('ses_desk', 'Again', '/shop')
    askIn(run, 'one')
    await passes(shows('touch one', 2))
    await passes(() => false, 1000)
    expect([1, 2].map((chat) => buttonsOf('touch one', chat))).toEqual([[], [2]])
    run.end({ type: 'completed' })
  },
)

test('a request that several chats show begins and ends once, and a chat that gives it up says where it waits', async () => {
  const events: BridgeEvent[] = []
  const { observe, text } = bridgeMetrics()
  const { desk, passes, telegram } = await startDesk({
    server: { directory: '/shop', homeChat: 'telegram:2' },
    observers: [(event) => events.push(event), observe],
  })
  desk('ses_desk', 'Go', '/shop').end({ type: 'completed' })
  telegram.say(1, '/switch ses_desk')
  await passes(shows('now continues'))
  const run = desk('ses_desk', 'Again', '/shop')
  const answers = askIn(run, 'one')
  await passes(shows('touch one'))
  telegram.say(1, '/new')
  await passes(shows('touch one', 2))
  askIn(run, 'two')
  await passes(() => shows('touch two', 2)() && shows('This request moved to another chat.')())
  expect(posted('touch one').map(({ text: words }) => words.includes('Answered elsewhere'))).toEqual([false])
  telegram.say(1, '/switch ses_desk')
  await passes(() => shows('touch two')() && buttonsOf('touch one').join() === '2')
  const { settled } = telegram.press(1, posted('touch one')[0]?.messageId ?? 0, 'Allow once')
  await passes(() => answers.length > 0)
  await settled
  await passes(() => false, 1000)
  run.closeAsk('two')
  await passes(() => false, 1000)
  run.end({ type: 'completed' })
  const told = events.flatMap((event) =>
    event.type === 'ask' ? [`${event.requestID} ${event.phase} in ${event.chat}, by ${event.actorID}`] : [],
  )
  expect(told.toSorted()).toEqual([
    'one answered in 1, by 1',
    'one answered in 2, by 1',
    'one asked in 1, by undefined',
    'one asked in 2, by undefined',
    'two asked in 1, by undefined',
    'two asked in 2, by undefined',
    'two withdrawn in 1, by undefined',
    'two withdrawn in 2, by undefined',
  ])
  const counted = (await text()).split('\n').filter((line) => line.startsWith('reply_bridge_asks_total{'))
  expect(counted.map((line) => line.replace(/^.*result="(\w+)".*by="(\w+)"} /, '$1 $2 '))).toEqual([
    'answered chat 1',
    'withdrawn other 1',
  ])
})

test('a request of a session whose chat takes no messages any more reaches the home chat', async () => {
  const { desk, passes, telegram } = await startDesk({ server: { directory: '/shop', homeChat: 'telegram:2' } })
  desk('ses_desk', 'Go', '/shop').end({ type: 'completed' })
  telegram.say(1, '/switch ses_desk')
  await passes(shows('now continues'))
  telegram.block(1)
  const run = desk('ses_desk', 'Again', '/shop')
  askIn(run, 'one')
  await passes(shows('touch one', 2))
  expect(posted('touch one', 2)).toHaveLength(1)
  telegram.block(1, false)
  run.closeAsk('one')
  askIn(run, 'two')
  await passes(shows('touch two', 2))
  await passes(() => posted('touch one', 2).every(({ buttons }) => buttons.length === 0))
  expect(posted('touch one', 2).map(({ buttons }) => buttons.length)).toEqual([0])
  run.end({ type: 'completed' })
})

test('a chat stays with its session when the platform refuses one request, which counts as one without a chat', async () => {
  const events: BridgeEvent[] = []
  const { desk, passes, telegram } = await startDesk({
    server: { directory: '/shop', homeChat: 'telegram:2' },
    observers: [(event) => events.push(event)],
  })
  desk('ses_desk', 'Go', '/shop').end({ type: 'completed' })
  telegram.say(1, '/switch ses_desk')
  await passes(shows('now continues'))
  const run = desk('ses_desk', 'Again', '/shop')
  for (const [requestID, code] of [
    ['one', 401],
    ['two', 400],
  ] as const) {
    telegram.inject({ type: 'status', code, method: /sendRichMessage|sendMessage/, chatId: 1 })
    askIn(run, requestID)
    await passes(() => events.some((event) => event.type === 'unshown' && event.requestID === requestID))
    run.closeAsk(requestID)
  }
  askIn(run, 'three')
  await passes(shows('touch three'))
  await passes(() => false, 1000)
  expect([posted('touch', 1).length, posted('touch', 2).length]).toEqual([1, 0])
  expect(events.filter(({ type }) => type === 'unshown')).toHaveLength(2)
  run.end({ type: 'completed' })
})

test('a request that the platform refused is not said to be above', async () => {
  const { desk, passes, telegram } = await startDesk()
  const run = desk(sessionID, 'Go')
  telegram.inject({ type: 'status', code: 400, method: /sendRichMessage|sendMessage/, chatId: 1 })
  askIn(run, 'one')
  await passes(shows('waits for an answer'))
  expect(posted('waits for an answer').map(({ text }) => text)).toEqual([
    expect.stringContaining('a request waits for an answer. It could not be shown here.'),
  ])
  run.end({ type: 'completed' })
})

test('a new request is not shown while the state can’t tell which chat has the session, and is once it can', async () => {
  let isMalformed = false
  const storeOf = (store: Store): Store => ({
    ...store,
    read: async (key) => (isMalformed && key.startsWith('session-chat/') ? '{' : await store.read(key)),
  })
  const { desk, passes, telegram } = await startDesk({ storeOf })
  const run = desk(sessionID, 'Go')
  const first = askIn(run, 'one')
  await passes(shows('touch one'))
  isMalformed = true
  const second = askIn(run, 'two')
  await passes(() => false, 1000)
  expect([posted('touch two'), buttonsOf('touch one')]).toEqual([[], [2]])
  const press = async (words: string): Promise<unknown> =>
    await telegram.press(1, posted(words)[0]?.messageId ?? 0, 'Allow once').settled
  await Promise.all([press('touch one'), passes(() => first.length > 0)])
  isMalformed = false
  await passes(shows('touch two'))
  await Promise.all([press('touch two'), passes(() => second.length > 0)])
  expect([first, second]).toEqual([['once'], ['once']])
  run.end({ type: 'completed' })
})

test('a request that the home chat refuses counts as one without a chat', async () => {
  const events: BridgeEvent[] = []
  const { desk, passes, telegram } = await startDesk({
    server: { directory: '/shop', homeChat: 'telegram:2' },
    observers: [(event) => events.push(event)],
  })
  telegram.block(2)
  const run = desk('ses_desk', 'Go', '/shop')
  askIn(run, 'one')
  await passes(() => events.some(({ type }) => type === 'unshown'))
  await passes(() => false, 1000)
  expect(events.filter(({ type }) => type === 'unshown')).toMatchObject([{ requestID: 'one', sessionID: 'ses_desk' }])
  run.end({ type: 'completed' })
})

test('a session that is handed to a shard once more before it has removed the first row is looked at once more', async () => {
  const key = keyOfChat(telegramChat(1), 'wake/home/ses_desk')
  const [, shard] = key.split('/')
  const hint = `wake/${shard}`
  const put = (value: string): readonly Write[] => [{ type: 'put', key, value }]
  const looked: string[] = []
  let inner: Store | undefined
  const storeOf = (store: Store): Store => {
    inner = store
    return {
      ...store,
      list: async (prefix) => {
        const rows = await store.list(prefix)
        if (prefix === `${hint}/`) looked.push(...rows.map(({ value }) => value))
        return rows
      },
      commit: async (writes, ...rest) => {
        const isFirst = looked.length === 1 && writes.some((write) => 'key' in write && write.key === key)
        if (isFirst) await store.commit(put('second'))
        const committed = await store.commit(writes, ...rest)
        // Other processes are told of a commit a moment after it.
        if (isFirst) await store.commit([], undefined, { hint })
        return committed
      },
    }
  }
  const { passes } = await startDesk({ storeOf })
  await inner?.commit(put('first'), undefined, { hint })
  await passes(() => looked.length > 1)
  expect(looked).toEqual(['first', 'second'])
  await passes(() => false, 10_000)
  expect(await inner?.read(key)).toBeUndefined()
})
