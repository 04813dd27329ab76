import { describe, expect, test } from 'vitest'
import type { Chat } from '../scripts/scale/chats.ts'
import { judge, type Seen } from '../scripts/scale/judge.ts'
import type { Given } from '../scripts/scale/people.ts'
import { endingOf, messageOf, type TaskKind } from '../scripts/scale/task.ts'

const chat: Chat = {
  ...{ channel: 'tg', person: 'tg:1', key: 'tg:1', isReal: false },
  say: () => {},
  press: async () => '',
  shown: () => [],
  observe: () => {},
  isPress: ({ body }, messageId) => body === `press ${messageId}`,
  isMessage: () => false,
}

function given(token: string, kind: TaskKind = 'answer', more: Partial<Given> = {}): Given {
  return {
    ...{
      token,
      chat,
      kind,
      at: 0,
      choice: 'Allow once',
      isTyped: false,
      presses: [],
      typedAt: [],
      stops: [],
      overAt: 1,
      told: undefined,
    },
    ...more,
  }
}

function ran(...tokens: readonly string[]): Seen['server']['tasks'] {
  return tokens.map((token) => ({ task: { token, kind: 'answer', ms: 0 }, sessionID: 'ses_1', at: 1 }))
}

/** What the judge finds in tasks on a stage that is otherwise in order. */
function found(
  all: readonly Given[],
  seen: Partial<Seen['server']> & Partial<Pick<Seen, 'telegram' | 'balancer'>>,
  messages: readonly (readonly string[])[] = all.map(({ token }) => [endingOf(token)]),
  {
    doubtful = 0,
    doubtfulChat = chat.key,
    deleted = [],
  }: { readonly doubtful?: number; readonly doubtfulChat?: string; readonly deleted?: readonly number[] } = {},
) {
  const { telegram = { calls: [] }, balancer = { deliveries: [] }, ...server } = seen
  return judge(
    {
      server: { tasks: ran(...all.map(({ token }) => token)), answers: [], ended: new Map(), ...server },
      model: { requests: [] },
      slack: { calls: [] },
      ...{ telegram, balancer },
    },
    {
      given: all,
      screenOf: (of) => ({
        histories: new Map(of === chat ? messages.map((texts, id) => [String(id), texts]) : []),
        present: new Set(messages.flatMap((_, id) => (deleted.includes(id) ? [] : [String(id)]))),
      }),
    },
    new Map([[doubtfulChat, { posts: doubtful, lasting: doubtful }]]),
  )
}

describe('the judge of test:scale', () => {
  test('finds nothing wrong in tasks that ran once, in order, and whose ends are shown once', () => {
    expect(found([given('t1'), given('t2')], {}).wrong).toEqual([])
  })

  test('finds a task that never came to an end', () => {
    expect(found([given('t1', 'answer', { overAt: undefined })], {}).lost).toBe(1)
  })

  test('finds a task that ran twice, on either server', () => {
    expect(found([given('t1')], { tasks: ran('t1', 't1') }).runTwice).toBe(1)
  })

  test('finds an end that two messages show, unless as many posts of the same chat are in doubt', () => {
    const twice = [[endingOf('t1')], ['Beginning', endingOf('t1')]]
    const elsewhere = given('t2', 'answer', { chat: { ...chat, person: 'tg:2', key: 'tg:2' } })
    const wrong = [expect.stringMatching('1 messages that are shown twice, of which 0 are counted')]
    expect(found([given('t1')], {}, twice)).toMatchObject({ doubled: 1, doubledSurely: 1, wrong })
    expect(found([given('t1')], {}, twice, { doubtful: 1 })).toMatchObject({ doubled: 1, doubledSurely: 0, wrong: [] })
    expect(found([given('t1'), elsewhere], {}, twice, { doubtful: 5, doubtfulChat: 'tg:2' })).toMatchObject({
      doubled: 1,
      doubledSurely: 1,
      doubtful: 5,
      wrong,
    })
  })

  test.each([
    ['the beginning of an answer', given('t1', 'hold'), 'Sentence 1 about t1.'],
    ['the beginning of an answer of the real server', given('t1'), 'Beginning of t1.'],
    ['a request', given('t1', 'ask'), '❓ Allow this? bash\n\ntouch t1'],
  ])('finds %s that two messages show, also if it changed', (_, one, text) => {
    expect(found([one], {}, [[text], [`${text} More.`]])).toMatchObject({ doubled: 1, doubledSurely: 1, shown: 2 })
    expect(found([one], {}, [[text, `${text} More.`]])).toMatchObject({ doubled: 0, shown: 1 })
  })

  test('finds more answers that end with a rejection than requests that were rejected', () => {
    const [ended, ask] = [new Map([['t1', 'rejected' as const]]), given('t1', 'ask')]
    const end = ['*Stopped: the permission was rejected.*']
    expect(found([ask], { ended }, [end, ['Stopped.'], ['Stopped.']]).doubled).toBe(0)
    expect(found([ask], { ended }, [end, end]).doubled).toBe(1)
  })

  test('finds a message that is at work for ever, unless it is in doubt or was deleted', () => {
    const left = [['Writing · step 2 · 4sgaxe', endingOf('t1')], ['Working · 4sgaxe']]
    const wrong = [expect.stringMatching('1 messages that are at work for ever, of which 0 are counted')]
    expect(found([given('t1')], {}, left)).toMatchObject({ unfinished: 1, wrong })
    expect(found([given('t1')], {}, left, { doubtful: 1 })).toMatchObject({ unfinished: 0, wrong: [] })
    expect(found([given('t1')], {}, left, { deleted: [1] })).toMatchObject({ unfinished: 0, wrong: [] })
  })

  test('tells copies apart that were deleted', () => {
    const twice = [[endingOf('t1')], [endingOf('t1')]]
    const gone = { deleted: [1] }
    expect(found([given('t1')], {}, twice, gone)).toMatchObject({
      doubled: 0,
      doubledForAWhile: 1,
      shown: 1,
      wrong: [],
    })
    expect(found([given('t1')], {}, twice, { ...gone, doubtful: 1 })).toMatchObject({ doubledForAWhile: 0 })
    expect(found([given('t1')], {}, twice)).toMatchObject({ doubledForAWhile: 0, doubledSurely: 1 })
  })

  test('finds an end that was shown and then deleted, unless another message shows it', () => {
    const ending = [endingOf('t1')]
    expect(found([given('t1')], {}, [ending], { deleted: [0] })).toMatchObject({ deleted: 1, finals: 0 })
    expect(found([given('t1')], {}, [ending, ending], { deleted: [0] })).toMatchObject({ deleted: 0, finals: 1 })
  })

  test('finds an end that was overwritten by an older text', () => {
    expect(found([given('t1')], {}, [[endingOf('t1'), 'Beginning']]).overwritten).toBe(1)
  })

  test('finds tasks of a chat that ran in another order', () => {
    expect(found([given('t1'), given('t2')], { tasks: ran('t2', 't1') }).disordered).toBe(1)
  })

  test('finds a task that ran before one that was acknowledged when it was first delivered, whatever the order of writing', () => {
    const tasks = ['t000001', 't000002'] as const
    const received = (first: string, second: string) =>
      [first, second].map((token, index) => ({
        ...{ body: messageOf({ token, kind: 'answer', ms: 0 }), member: 'member0', status: 200 },
        ...{ at: 10 * index, endedAt: 10 * index + 10 },
      }))
    const foundIn = (deliveries: ReturnType<typeof received>) =>
      found(
        tasks.map((token) => given(token)),
        { tasks: ran('t000002', 't000001'), balancer: { deliveries } },
      )
    expect(foundIn(received('t000001', 't000002'))).toMatchObject({ disordered: 1, disorderedAsReceived: 1 })
    expect(foundIn(received('t000002', 't000001'))).toMatchObject({ disordered: 1, disorderedAsReceived: 0 })
  })

  test('finds a permission that got another answer than was pressed, or a second one', () => {
    const ask = given('t1', 'ask')
    const answer = { token: 't1', reply: 'once', at: 1 }
    expect(found([ask], { answers: [answer] }).wrongAnswers).toBe(0)
    expect(found([ask], { answers: [answer, answer] }).wrongAnswers).toBe(1)
    expect(found([ask], { answers: [{ ...answer, reply: 'reject' }] }).wrongAnswers).toBe(1)
  })

  test('finds an answer that came long after the last delivery of its press', () => {
    const ask = given('t1', 'ask', { presses: [{ messageId: '7', at: 0, notice: undefined }] })
    const delivery = { at: 10, body: 'press 7', member: 'member0', status: 200, endedAt: 20 }
    const lateBy = (ms: number) =>
      found([ask], { answers: [{ token: 't1', reply: 'once', at: 10 + ms }], balancer: { deliveries: [delivery] } })
    expect(lateBy(3000).lateAnswers).toBe(0)
    expect(lateBy(3001).lateAnswers).toBe(1)
  })

  test('finds a task that was stopped though its person wrote no /stop', () => {
    const ended = new Map([['t1', 'aborted' as const]])
    expect(found([given('t1')], { ended }).wrongStops).toBe(1)
    expect(found([given('t1', 'hold', { stops: [5] })], { ended }).wrongStops).toBe(0)
  })

  test('finds calls that were rate-limited, and tells those that show typing apart', () => {
    const calls = [
      { method: 'sendMessage', status: 429 },
      { method: 'sendChatAction', status: 429 },
      { method: 'sendMessage', status: 200 },
    ]
    expect(found([], { telegram: { calls } })).toMatchObject({ rateLimited: 1, typingRateLimited: 1 })
  })
})
