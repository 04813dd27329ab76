import type { PermissionAsk, Reply } from '@reply/core'
import { createHandClock } from '@reply/testing'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AskInput } from '../src/asks/asks.ts'
import { memoryStore } from '../src/ledger/ledger.ts'
import type { Actor } from '../src/port/actor.ts'
import type { ChannelPort, Chat } from '../src/port/port.ts'
import { createSink, type Sink } from '../src/sink.ts'
import { createFake, fakeRender } from '../src/testing/fake.ts'
import { permits, replyWith } from './make.ts'
import { rest } from './scene.ts'
import { beginning } from './timeline.ts'

/**
 * A model of the rules beside a sink on a fake chat: whatever people do, in whatever order, nothing is allowed that the
 * rules forbid. The fake chat's screen and clock decide what was shown, and when.
 */

type Step =
  | { readonly type: 'ask' | 'change' | 'end'; readonly at: number }
  | { readonly type: 'pass'; readonly ms: number }
  | { readonly type: 'restart'; readonly isGuarded: boolean }
  | ({
      readonly type: 'press'
      readonly label: number
      readonly isElsewhere: boolean
      readonly isCopied: boolean
    } & Doing)
  | ({
      readonly type: 'say'
      readonly words: string
      readonly agoMs: number
      readonly how: How
      readonly thread: Thread
    } & Doing)
interface Doing {
  readonly who: Actor
  readonly at: number
}
/** Where a text is written: in the sink's place, in the chat's main view, or in another topic. */
type Thread = 'own' | 'none' | 'other'
type How = 'bare' | 'reply' | 'reply to another' | 'forwarded'

const people: readonly Actor[] = [
  { id: 'ada', name: 'Ada' },
  { id: 'bob', name: 'Bob' },
  { id: 'team', name: 'Ada', isAnonymous: true },
]
const at = fc.nat(2)
const doing = { who: fc.constantFrom(...people), at }
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constantFrom('ask' as const, 'ask' as const, 'change' as const, 'end' as const), at }),
  fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(100, 1000, 20_000) }),
  fc.record({ type: fc.constant('restart' as const), isGuarded: fc.boolean() }),
  fc.record({
    ...{ type: fc.constant('press' as const), label: fc.nat(2), ...doing },
    // Of the chat, and of the message: a copy of it, or another message.
    ...{ isElsewhere: fc.boolean(), isCopied: fc.boolean() },
  }),
  fc.record({
    ...{ type: fc.constant('say' as const), words: fc.constantFrom('1', 'yes', '2', 'always', '/yes', 'no', 'hm') },
    ...{ agoMs: fc.constantFrom(0, 500, 5000, 60_000), ...doing },
    thread: fc.constantFrom<Thread[]>('own', 'own', 'own', 'own', 'none', 'other'),
    how: fc.constantFrom<How[]>('bare', 'bare', 'reply', 'reply to another', 'forwarded'),
  }),
)

async function play(steps: readonly Step[], chat: Chat, isGuarded: boolean): Promise<number> {
  const clock = createHandClock(beginning)
  const fake = createFake({ clock })
  const postedAt = new Map<string, number>()
  const port: ChannelPort = {
    ...fake.port,
    post: async (bubble, options) => {
      const ref = await fake.port.post(bubble, options)
      postedAt.set(ref.id, clock.now())
      return ref
    },
  }
  const store = memoryStore()
  const asks: PermissionAsk[] = []
  const answered = new Set<string>()
  /** Asks that a sink with known answerers has seen. They stay restricted. */
  const guarded = new Set<string>()
  let [versions, allowed, hasGuard] = [0, 0, isGuarded]
  let sink = open()
  const commandOf = ({ call }: PermissionAsk): string => String(call?.input.command)
  const messageOf = (ask: PermissionAsk | undefined) =>
    ask && fake.screen().findLast((one) => one.text.includes(commandOf(ask)) && !one.text.includes('no longer valid'))
  for (const one of [{ type: 'ask', at: 0 }, { type: 'pass', ms: 20_000 }, ...steps] as const) await take(one)
  await sink.stop()
  return allowed

  function threadOf(thread: Thread): string | undefined {
    if (thread === 'none') return undefined
    return thread === 'own' ? chat.thread : 'another'
  }

  function open(): Sink {
    const guard = hasGuard ? { answerers: ['ada'] } : {}
    return createSink({ port, render: fakeRender, chat, store, clock, policy: { verbosity: 'quiet' }, ...guard })
  }

  function show(): void {
    const reply: Reply = replyWith([], { phase: 'blocked', asks: [...asks] })
    sink.replyAmended?.({ type: 'replyAmended', reply })
    if (hasGuard) for (const { requestID, status } of asks) if (status === 'pending') guarded.add(requestID)
  }

  async function take(one: Step): Promise<void> {
    switch (one.type) {
      case 'ask':
      case 'change':
      case 'end': {
        const known = asks[one.at]
        if (one.type === 'ask' ? known : known?.status !== 'pending') return
        const command = `run-${++versions}-`
        const always = versions % 2 === 0 ? ['run *'] : []
        const call = { tool: 'bash', input: { command } }
        const fresh = { requestID: `per_${one.at}`, title: `bash: ${command}`, patterns: [command], always, call }
        if (one.type === 'ask') asks.push(permits({ ...fresh, requestID: `per_${asks.length}` }))
        else if (known) asks[one.at] = one.type === 'end' ? { ...known, status: 'withdrawn' } : { ...known, ...fresh }
        show()
        return await rest()
      }
      case 'pass':
        return await clock.advance(one.ms, rest)
      case 'restart':
        await sink.stop()
        hasGuard = one.isGuarded
        // An answer in flight to the server is forgotten: if there are two, the server accepts one.
        answered.clear()
        sink = open()
        show()
        return await rest()
      case 'press': {
        const all = fake.posted.flatMap(({ id, buttons }) => buttons.flat().map(({ data }) => ({ id, data })))
        const { id = '', data: token = '' } = all[one.label + 3 * one.at] ?? {}
        const messageRef = { id: one.isCopied ? (fake.posted[one.at]?.id ?? 'copy') : id }
        const input = { token, messageRef, chat: one.isElsewhere ? { id: 'elsewhere' } : chat }
        return check(await sink.readAnswer(input, one.who), input, one.who)
      }
      case 'say': {
        const replied = one.how === 'reply' ? messageOf(asks[one.at])?.id : 'another'
        const input: AskInput = {
          ...{
            text: one.words,
            chat: { ...chat, thread: threadOf(one.thread) },
            messageRef: { id: 'said', postedAt: clock.now() - one.agoMs },
          },
          ...(one.how.startsWith('reply') && { replyTo: { id: replied ?? 'another' } }),
          ...(one.how === 'forwarded' && { isForwarded: true }),
        }
        return check(await sink.readAnswer(input, one.who), input, one.who)
      }
      default:
        one satisfies never
    }
  }

  function check(taken: Awaited<ReturnType<Sink['readAnswer']>>, input: AskInput, who: Actor): void {
    if (taken?.type !== 'answer' || taken.ask.type !== 'permission') return
    const ask = asks.find(({ requestID }) => requestID === taken.ask.requestID)
    const message = messageOf(ask)
    expect(ask?.status).toBe('pending')
    expect(message, 'what runs is on the screen').toBeDefined()
    expect(answered.has(ask ? commandOf(ask) : ''), 'one answer').toBe(false)
    if (taken.answer === 'always') expect(ask?.always).not.toEqual([])
    expect(who.isAnonymous).toBeUndefined()
    if (guarded.has(taken.ask.requestID)) expect(who.id).toBe('ada')
    else expect(chat.kind).toBe('private')
    expect(input.chat?.id).toBe(chat.id)
    if ('token' in input) expect(input.messageRef.id).toBe(message?.id)
    if ('text' in input) {
      expect([input.isForwarded, input.text.startsWith('/')]).toEqual([undefined, false])
      if (input.replyTo) expect(input.replyTo.id).toBe(message?.id)
      else expect([chat.kind, input.chat?.thread]).toEqual(['private', chat.thread])
      const wroteAt = Math.floor((input.messageRef?.postedAt ?? 0) / 1000)
      expect(wroteAt).toBeGreaterThanOrEqual(Math.floor((postedAt.get(message?.id ?? '') ?? Infinity) / 1000))
      const open = asks.filter((each) => each.status === 'pending' && !answered.has(commandOf(each)) && messageOf(each))
      const isFor = ({ requestID }: PermissionAsk): boolean => !guarded.has(requestID) || who.id === 'ada'
      const isShown = (each: PermissionAsk): boolean =>
        Math.floor((postedAt.get(messageOf(each)?.id ?? '') ?? Infinity) / 1000) <= wroteAt
      const fits = ({ always }: PermissionAsk): boolean => taken.answer !== 'always' || always.length > 0
      if (!input.replyTo) expect(open.filter(isShown).filter(fits).filter(isFor)).toHaveLength(1)
    }
    answered.add(ask ? commandOf(ask) : '')
    allowed += 1
  }
}

test('nothing is ever allowed that the rules forbid', async () => {
  let allowed = 0
  const chats = fc.constantFrom<Chat[]>(
    { id: 'chat', kind: 'private' },
    { id: 'chat', thread: '5', kind: 'private' },
    { id: 'chat', kind: 'shared' },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), chats, fc.boolean(), async (...given) => {
      allowed += await play(...given)
    }),
    { numRuns: 150 },
  )
  // Checks that the model can see an allowed ask at all.
  expect(allowed).toBeGreaterThan(10)
})
