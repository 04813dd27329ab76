import { type Ask, type Reply, ReplyError } from '@reply/core'
import { createHandClock, type HandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import type { AskInput } from '../src/asks/asks.ts'
import { answerWith } from '../src/inbound/answer.ts'
import type { MessageRef } from '../src/port/port.ts'
import { createSink, type SinkOptions } from '../src/sink.ts'
import { fakeRender } from '../src/testing/fake.ts'
import { texts } from '../src/texts.ts'
import { asks, permits, questionOf, replyWith } from './make.ts'
import { pressing } from './pressing.ts'
import { createScene, type Scene } from './scene.ts'
import { beginning } from './timeline.ts'

const ada = { id: 'ada', name: 'Ada' }
const bob = { id: 'bob', name: 'Bob' }
const here = { id: 'chat', kind: 'private' } as const
const group = { id: 'chat', kind: 'shared' } as const
const known = { callID: 'call_1', call: { tool: 'bash', input: { command: 'npm test' } } }
const permission = permits(known)

function blocked(...open: Reply['asks']): Reply {
  return replyWith([], { phase: 'blocked', asks: open })
}

async function asking(reply: Reply, sink: Partial<SinkOptions> = {}, clock?: HandClock): Promise<Scene> {
  const scene = createScene({ clock, sink: { chat: here, policy: { verbosity: 'quiet' }, ...sink } })
  scene.show(reply)
  await scene.pass(10_000)
  return scene
}

/** Text written now, or that many ms earlier. */
function typed(scene: Scene, text: string, more: Partial<AskInput> & { readonly agoMs?: number } = {}): AskInput {
  const { agoMs = 0, ...rest } = more
  return { text, messageRef: { id: 'typed', postedAt: scene.clock.now() - agoMs }, ...rest }
}

const askedBy = (scene: Scene, word: string): string =>
  scene.fake.screen().find(({ text }) => text.includes(word))?.id ?? ''
const tokenOf = (scene: Scene, label: string): string =>
  scene.fake
    .screen()
    .flatMap((one) => one.buttons.flat())
    .find((button) => button.label === label)?.data ?? ''

describe('typed text', () => {
  test('allows only what the chat showed before it was written, the same second included', async () => {
    const scene = await asking(blocked(permission))
    // It was asked in the first second, ten seconds ago.
    expect(await scene.sink().readAnswer(typed(scene, '1', { agoMs: 10_001 }), ada)).toBeUndefined()
    const taken = await scene.sink().readAnswer(typed(scene, '1', { agoMs: 10_000 }), ada)
    expect(taken).toMatchObject({ type: 'answer', answer: 'once' })
    taken?.undo()
    expect(await scene.sink().readAnswer(typed(scene, '1'), ada)).toMatchObject({ type: 'answer', answer: 'once' })
  })

  test('from before an ask was closed that it would have answered is told so, and answers no other ask', async () => {
    const other = permits({ ...known, requestID: 'per_2', patterns: ['npm run build'], title: 'bash: npm run build' })
    const scene = await asking(blocked(permission, other))
    const closed = { ...permission, status: 'answered', reply: 'once', closedAt: scene.clock.now() } as const
    scene.show(blocked(closed, other))
    await scene.pass(2000)
    const read = async (text: string, agoMs: number) =>
      await scene.sink().readAnswer(typed(scene, text, { agoMs }), ada)
    expect(await read('1', 3000)).toMatchObject({ type: 'error', error: texts.whichOne })
    const taken = await read('1', 1000)
    expect(taken).toMatchObject({ type: 'answer', ask: { requestID: 'per_2' } })
    taken?.undo()
    scene.show(blocked(closed, { ...other, status: 'rejected', closedAt: scene.clock.now() - 2000 }))
    await scene.pass(1000)
    expect(await read('no', 4000)).toMatchObject({
      type: 'error',
      error: 'This was already resolved elsewhere: ✅ Allow once',
    })
    expect([await read('1', 1000), await read('and now the docs', 4000)]).toEqual([undefined, undefined])
  })

  test('from after an ask was closed is conversation, also if the wall clock was set back before that', async () => {
    const scene = createScene({ sink: { chat: here, policy: { verbosity: 'quiet' } } })
    const hour = 3_600_000
    scene.show(replyWith([]))
    scene.clock.step(hour)
    await scene.pass(1000)
    scene.clock.step(-hour)
    scene.show(blocked(permission))
    await scene.pass(10_000)
    const steadyNow = scene.clock.now() + hour
    scene.show(blocked({ ...permission, status: 'answered', reply: 'once', closedAt: steadyNow }))
    await scene.pass(5000)
    const read = async (agoMs: number) => await scene.sink().readAnswer(typed(scene, '1', { agoMs }), ada)
    expect(await read(3000)).toBeUndefined()
    expect(await read(6000)).toMatchObject({ error: 'This was already resolved elsewhere: ✅ Allow once' })
  })

  test('from before an ask was closed is conversation in a shared chat, and if it names no option', async () => {
    const closedAt = (scene: Scene): number => scene.clock.now() - 1000
    const shared = await asking(blocked(permission), { chat: group, answerers: [ada.id] })
    shared.show(blocked({ ...permission, status: 'rejected', closedAt: closedAt(shared) }))
    await shared.pass(1000)
    expect(await shared.sink().readAnswer(typed(shared, '1', { agoMs: 3000, chat: group }), ada)).toBeUndefined()
    const question = asks([questionOf({ custom: true })])
    const scene = await asking(blocked(question))
    scene.show(blocked({ ...question, status: 'answered', answers: [['Blue']], closedAt: closedAt(scene) }))
    await scene.pass(1000)
    const read = async (text: string) => await scene.sink().readAnswer(typed(scene, text, { agoMs: 3000 }), ada)
    expect([await read('and now the docs'), (await read('Red'))?.type]).toEqual([undefined, 'error'])
  })

  test('without a time answers only by a reply to the ask', async () => {
    const scene = await asking(blocked(permission))
    expect(await scene.sink().readAnswer({ text: '1' }, ada)).toBeUndefined()
    const replyTo = { id: askedBy(scene, 'npm test') }
    expect(await scene.sink().readAnswer({ text: '1', replyTo }, ada)).toMatchObject({ type: 'answer', answer: 'once' })
  })

  test.each<[string, Partial<AskInput> & { text?: string }]>([
    ['a command', { text: '/cancel' }],
    ['a command that the platform marks', { isCommand: true }],
    ['forwarded', { isForwarded: true }],
    ['a reply to another message', { replyTo: { id: 'another' } }],
    ['from another chat', { chat: { id: 'elsewhere' } }],
  ])('that is %s answers nothing', async (_, more) => {
    const scene = await asking(blocked(asks([questionOf({ custom: true })])))
    expect(await scene.sink().readAnswer(typed(scene, 'Red', more), ada)).toBeUndefined()
  })

  test.each<[string, string | undefined, string | undefined]>([
    ["in a topic, if the ask is in the chat's main view", undefined, '9'],
    ["in the chat's main view, if the ask is in a topic", '5', undefined],
    ['in another topic', '5', '9'],
  ])('that is written %s answers only as a reply to the ask', async (_, shownIn, writtenIn) => {
    const chat = { ...here, ...(shownIn !== undefined && { thread: shownIn }) }
    const from = { ...here, ...(writtenIn !== undefined && { thread: writtenIn }) }
    const scene = await asking(blocked(permission), { chat })
    expect(await scene.sink().readAnswer(typed(scene, 'yes', { chat: from }), ada)).toBeUndefined()
    const other = { chat: from, replyTo: { id: 'another' } }
    expect(await scene.sink().readAnswer(typed(scene, 'yes', other), ada)).toBeUndefined()
    const replyTo = { id: askedBy(scene, 'npm test') }
    const replied = typed(scene, 'yes', { chat: { ...here, thread: shownIn }, replyTo })
    expect(await scene.sink().readAnswer(replied, ada)).toMatchObject({ type: 'answer', answer: 'once' })
  })

  test('answers a question in its own topic only, in a group too', async () => {
    const scene = await asking(blocked(asks([questionOf({ custom: true })])), {
      chat: { ...group, thread: '5' },
      answerers: ['ada'],
    })
    expect(await scene.sink().readAnswer(typed(scene, 'Red', { chat: group }), ada)).toBeUndefined()
    const taken = await scene.sink().readAnswer(typed(scene, 'Red', { chat: { ...group, thread: '5' } }), ada)
    expect(taken?.type).toBe('answer')
  })

  test("outside of threads counts as the chat's main view, though it names the thread that it would start", async () => {
    const scene = await asking(blocked(permission))
    const taken = await scene.sink().readAnswer(typed(scene, 'yes', { chat: { ...here, thread: 'typed' } }), ada)
    expect(taken).toMatchObject({ type: 'answer', answer: 'once' })
  })

  test('that replies to an unconfirmed message is told to wait', async () => {
    const scene = createScene({ sink: { chat: here } })
    const { port } = scene.fake
    let confirm: () => void = () => undefined
    const confirmed = new Promise<void>((resolve) => {
      confirm = resolve
    })
    const post: typeof port.post = async (bubble, options) => {
      const ref = await port.post(bubble, options)
      await confirmed
      return ref
    }
    const sink = createSink({
      ...{ port: { ...port, post }, render: fakeRender, chat: here, clock: scene.clock },
      policy: { verbosity: 'quiet' },
    })
    sink.replyStarted?.({ type: 'replyStarted', reply: blocked(permission) })
    await scene.pass(5000)
    const replyTo = { id: askedBy(scene, 'npm test') }
    expect(await sink.readAnswer(typed(scene, '1', { replyTo }), ada)).toMatchObject({ error: texts.notShownYet })
    confirm()
    await scene.pass(1000)
    expect(await sink.readAnswer(typed(scene, '1', { replyTo }), ada)).toMatchObject({ type: 'answer', answer: 'once' })
    await sink.stop()
  })

  test('that fits several asks gets an error that asks which one; a reply says which', async () => {
    const second = permits({
      ...known,
      requestID: 'per_2',
      patterns: ['ls'],
      call: { tool: 'bash', input: { command: 'ls' } },
    })
    const scene = await asking(blocked(permission, second))
    expect(await scene.sink().readAnswer(typed(scene, 'yes'), ada)).toMatchObject({
      type: 'error',
      error: texts.whichOne,
    })
    const replyTo = { id: askedBy(scene, '\nls\n') }
    expect(await scene.sink().readAnswer(typed(scene, 'yes', { replyTo }), ada)).toMatchObject({
      type: 'answer',
      ask: { requestID: 'per_2' },
    })
  })

  test('that fits one of several asks answers that one', async () => {
    const scene = await asking(blocked(permission, asks()))
    expect(await scene.sink().readAnswer(typed(scene, 'Blue'), ada)).toMatchObject({ answer: [['Blue']] })
  })

  test('allows nothing in a shared chat, but a reply to the ask does', async () => {
    const scene = await asking(blocked(permission), { chat: group, answerers: ['ada'] })
    const bare = await scene.sink().readAnswer(typed(scene, '1'), ada)
    expect(bare).toMatchObject({ type: 'error', error: texts.pressOrReply })
    const replyTo = { id: askedBy(scene, 'npm test') }
    expect(await scene.sink().readAnswer(typed(scene, '1', { replyTo }), bob)).toMatchObject({ error: texts.notForYou })
    expect(await scene.sink().readAnswer(typed(scene, '1', { replyTo }), ada)).toMatchObject({ answer: 'once' })
  })
})

test('a text allows something in a chat whose kind only the text tells', async () => {
  const scene = await asking(blocked(permission), { chat: { id: group.id }, answerers: ['ada'] })
  const typedIn = (kind: 'private' | 'shared') => typed(scene, '1', { chat: { id: group.id, kind } })
  expect(await scene.sink().readAnswer(typedIn('shared'), ada)).toMatchObject({ error: texts.pressOrReply })
  expect(await scene.sink().readAnswer(typedIn('private'), ada)).toMatchObject({ answer: 'once' })
})

describe('the actor who answers', () => {
  test('must be known in a shared chat to allow anything, and the chat is told why once', async () => {
    const second = permits({
      ...known,
      requestID: 'per_2',
      patterns: ['ls'],
      call: { tool: 'bash', input: { command: 'ls' } },
    })
    const scene = await asking(blocked(permission, second), { chat: group })
    expect(
      scene.fake
        .screen()
        .flatMap((one) => one.buttons.flat())
        .map(({ label }) => label),
    ).toEqual(['Reject', 'Reject'])
    const explained = scene.fake.screen().filter(({ text }) => text.includes('has no list of people'))
    expect(explained).toHaveLength(1)
    const replyTo = { id: askedBy(scene, '\nls\n') }
    expect(await scene.sink().readAnswer(typed(scene, '1', { replyTo }), ada)).toMatchObject({ type: 'error' })
  })

  test('is checked with mayAnswer, and only true counts', async () => {
    for (const answer of [1, 'yes', Promise.resolve('yes'), Promise.reject(new Error('down'))]) {
      const scene = await asking(blocked(permission), { mayAnswer: () => answer as never })
      const token = tokenOf(scene, 'Allow once')
      expect(await scene.sink().readAnswer(pressing(scene, token), ada)).toMatchObject({
        type: 'error',
        error: texts.notForYou,
      })
    }
  })

  test.each<[string, Partial<SinkOptions>, Partial<SinkOptions>]>([
    ['an ask without permitted answerers', { answerers: [] }, { answerers: [] }],
    ['an ask whose mayAnswer is missing after a restart', { mayAnswer: () => true }, {}],
  ])('%s can only be rejected, by anyone', async (_, before, after) => {
    const scene = await asking(blocked(permission), { chat: group, ...before })
    const { store, clock } = scene
    const options = { store, chat: group, port: scene.fake.port, secret: () => 'another', ...after }
    const later = createScene({ clock, sink: options })
    later.show(blocked(permission))
    await later.pass(5000)
    const labels = scene.fake.screen().flatMap(({ buttons }) => buttons.flat().map(({ label }) => label))
    expect(labels).toEqual(['Reject'])
    const token = tokenOf(scene, 'Reject')
    expect(
      await later.sink().readAnswer({ ...pressing(scene, token), token: token.replace('reject', 'once') }, ada),
    ).toMatchObject({ type: 'error' })
    expect(await later.sink().readAnswer(pressing(scene, token), bob)).toMatchObject({ type: 'reject' })
  })

  test('may still reject if mayAnswer is missing after a restart', async () => {
    const scene = await asking(blocked(permission), { answerers: ['ada'], mayAnswer: () => true })
    const later = createScene({ clock: scene.clock, sink: { store: scene.store, chat: here, port: scene.fake.port } })
    later.show(blocked(permission))
    await later.pass(5000)
    const token = tokenOf(scene, 'Reject')
    expect(await later.sink().readAnswer(pressing(scene, token), bob)).toMatchObject({
      type: 'error',
      error: texts.notForYou,
    })
    expect(await later.sink().readAnswer(pressing(scene, token), ada)).toMatchObject({ type: 'reject' })
  })

  test('is restricted by the ledger: a restart grants nothing', async () => {
    const cases = [
      [{ answerers: ['ada'] }, texts.notForYou],
      [{ mayAnswer: () => true }, texts.notAllowedHere],
    ] as const
    for (const [guard, error] of cases) {
      const scene = await asking(blocked(permission), guard)
      const press = pressing(scene, tokenOf(scene, 'Allow once'))
      const { store, clock } = scene
      const later = createScene({ clock, sink: { store, chat: here, port: scene.fake.port } })
      later.show(blocked(permission))
      await later.pass(5000)
      const taken = await later.sink().readAnswer(press, bob)
      expect(taken?.type === 'error' ? taken.error : taken).toBe(error)
    }
  })

  test('cannot be an anonymous administrator', async () => {
    const scene = await asking(blocked(permission), { mayAnswer: () => true })
    const token = tokenOf(scene, 'Allow once')
    const taken = await scene.sink().readAnswer(pressing(scene, token), { id: '-7', name: 'Team', isAnonymous: true })
    expect(taken).toMatchObject({ type: 'error', error: texts.anonymous })
  })

  test('answers once, even if several answer while the host decides', async () => {
    const scene = await asking(blocked(permission), { mayAnswer: async () => true })
    const token = tokenOf(scene, 'Allow once')
    const both = await Promise.all([
      scene.sink().readAnswer(pressing(scene, token), ada),
      scene.sink().readAnswer(typed(scene, 'yes'), bob),
      scene.sink().readAnswer(pressing(scene, token), bob),
    ])
    expect(both.filter((one) => one?.type === 'answer')).toHaveLength(1)
  })

  test('is not checked for an ask that was answered while the host decided', async () => {
    let decide = (_: boolean): void => {}
    const decided = new Promise<boolean>((resolve) => {
      decide = resolve
    })
    const scene = await asking(blocked(permission), { mayAnswer: () => decided })
    const taking = scene.sink().readAnswer(pressing(scene, tokenOf(scene, 'Allow once')), ada)
    scene.show(replyWith([], { asks: [{ ...permission, status: 'withdrawn' }] }))
    decide(true)
    expect(await taking).toMatchObject({ type: 'error', error: 'This was already resolved. No longer needed.' })
  })
})

test('a press for an ask that has ended says how it ended, and names the person of the chat who answered', async () => {
  const scene = await asking(blocked(permission))
  const press = pressing(scene, tokenOf(scene, 'Allow once'))
  const ended = { ...permission, status: 'answered', reply: 'once', closedAt: scene.clock.now() } as const
  scene.show(blocked(ended))
  const refusal = async (): Promise<unknown> => await scene.sink().readAnswer(press, ada)
  expect(await refusal()).toMatchObject({ error: 'This was already resolved elsewhere: ✅ Allow once' })
  const other = await asking(blocked(permission))
  const first = pressing(other, tokenOf(other, 'Reject'))
  await other.sink().readAnswer(first, ada)
  other.show(blocked({ ...permission, status: 'rejected', closedAt: other.clock.now() }))
  expect(await other.sink().readAnswer(first, ada)).toMatchObject({
    error: `This was already resolved: 🚫 Rejected · ${ada.name}`,
  })
})

test('a token pressed in another chat is refused', async () => {
  const scene = await asking(blocked(permission))
  const token = tokenOf(scene, 'Allow once')
  const taken = await scene.sink().readAnswer({ ...pressing(scene, token), chat: { id: 'elsewhere' } }, ada)
  expect(taken).toMatchObject({ type: 'error', error: texts.notHere })
})

describe('text that comes while an answer is on its way', () => {
  const question = asks([questionOf({ custom: true })])
  const [red = '', blue = ''] = question.questions[0]?.options.map(({ label }) => label) ?? []

  test('is what the person says next; an option is told that it is late', async () => {
    const scene = await asking(blocked(question))
    expect(await scene.sink().readAnswer(pressing(scene, tokenOf(scene, red)), ada)).toMatchObject({ type: 'answer' })
    expect(await scene.sink().readAnswer(typed(scene, 'Then run the tests'), ada)).toBeUndefined()
    const late = await scene.sink().readAnswer(typed(scene, blue), ada)
    expect(late).toMatchObject({ type: 'error', error: texts.alreadyResolved })
  })

  test('is an answer again if the server did not take that one', async () => {
    const scene = await asking(blocked(question))
    const taken = await scene.sink().readAnswer(pressing(scene, tokenOf(scene, red)), ada)
    taken?.undo()
    expect(await scene.sink().readAnswer(typed(scene, 'Green'), ada)).toMatchObject({
      type: 'answer',
      answer: [['Green']],
    })
  })

  test('after a restart is what the person says next if the server has another answer', async () => {
    const scene = await asking(blocked(question))
    const late = new ReplyError('already-resolved', 'The question que_1 is already resolved.')
    const client = {
      answer: async () => await Promise.reject(late),
      reject: async () => expect.fail('It was not refused.'),
      abort: async () => {},
    }
    const stream = { abort: async () => expect.fail('It was not stopped.') }
    const answer = answerWith({ client, running: () => [{ sink: scene.sink(), stream }] })
    const said: (string | undefined)[] = []
    const say = async (text: string): Promise<boolean> =>
      await answer({
        ...{ type: 'text', chat: here, actor: ada, text, isCommand: false },
        ...{ messageRef: { id: 'typed', postedAt: scene.clock.now() }, answer: async (words) => void said.push(words) },
      })
    expect([await say('Then run the tests'), said]).toEqual([false, []])
    expect([await say(blue), said]).toEqual([true, [texts.alreadyResolved]])
  })
})

describe('text that fits asks of two sinks in one chat', () => {
  async function two() {
    const clock = createHandClock(beginning)
    const replyOf = (command: string): Reply => {
      const call = { tool: 'bash', input: { command } }
      const ask = permits({ requestID: `per_${command}`, title: `bash: ${command}`, patterns: [command], call })
      return { ...blocked(ask), sessionID: `ses_${command}` }
    }
    const first = await asking(replyOf('ls'), {}, clock)
    const second = await asking(replyOf('make'), { port: first.fake.port }, clock)
    const answered: string[] = []
    const client = {
      answer: async ({ requestID }: Ask) => void answered.push(requestID),
      reject: async () => expect.fail('It was not refused.'),
      abort: async () => {},
    }
    const stream = { abort: async () => expect.fail('It was not stopped.') }
    const answer = answerWith({
      client,
      running: () => [first, second].map((one) => ({ sink: one.sink(), stream })),
    })
    const answers: (string | undefined)[] = []
    const say = async (text: string, replyTo?: MessageRef): Promise<boolean> =>
      await answer({
        ...{ type: 'text', chat: here, actor: ada, text, isCommand: false, ...(replyTo && { replyTo }) },
        ...{ messageRef: { id: 'typed', postedAt: clock.now() }, answer: async (words) => void answers.push(words) },
      })
    return { say, answers, answered, first }
  }

  test('gets the question which one, and answers neither', async () => {
    const { say, answers, answered } = await two()
    expect(await say('1')).toBe(true)
    expect([answers, answered]).toEqual([[texts.whichOne], []])
  })

  test('answers the one that it replies to', async () => {
    const { say, answers, answered, first } = await two()
    await say('1', { id: askedBy(first, 'make') })
    expect([answers, answered]).toEqual([[], ['per_make']])
  })
})
