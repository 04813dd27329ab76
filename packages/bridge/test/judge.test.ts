import type { Inbound } from '@reply/sink'
import { expect, test } from 'vitest'
import { judge, type MessageFacts } from '../src/intake/judge.ts'

type Text = Extract<Inbound, { type: 'text' }>

const text = (change: Partial<Text> = {}): Text => ({
  ...{ type: 'text', chat: { id: '7', kind: 'private' }, actor: { id: '7', name: 'Ann' }, text: 'Hi' },
  ...{ messageRef: { id: '1' }, isCommand: false, answer: async () => {} },
  ...change,
})

const facts = (change: Partial<MessageFacts> = {}): MessageFacts => ({
  ...{ person: { name: 'ann', may: new Set(['prompt']) }, isOurs: false, isOwnCommand: false },
  ...{ router: { maxTextLength: 100 } },
  ...change,
})

const shared = { id: '-5', kind: 'shared' } as const

test.each<[string, Partial<Text>, Partial<MessageFacts>, string]>([
  ['a private message of a known person', {}, {}, 'taken'],
  ['a private message of a stranger', {}, { person: undefined }, 'stranger'],
  ['a person without any right', {}, { person: { name: 'ann', may: new Set() } }, 'may-not'],
  ['talk in a group', { chat: shared }, {}, 'ignored'],
  ['talk of a stranger in a group', { chat: shared }, { person: undefined }, 'ignored'],
  ['talk where the kind of the chat is unknown', { chat: { id: '9' } }, {}, 'ignored'],
  ['a mention in a group', { chat: shared, isMention: true }, {}, 'taken'],
  ['a stranger that mentions it in a group', { chat: shared, isMention: true }, { person: undefined }, 'stranger'],
  ['a reply to the bot in a group', { chat: shared, repliesToBot: true }, {}, 'taken'],
  ['a thread of ours', { chat: shared }, { isOurs: true }, 'taken'],
  ['a command of ours in a group', { chat: shared, isCommand: true }, { isOwnCommand: true }, 'taken'],
  ['a channel that writes', { actor: { id: '-5', name: 'News', isAnonymous: true } }, {}, 'anonymous'],
  ['nothing', { text: ' ' }, {}, 'ignored'],
  ['only a file', { text: '', files: [{ ref: 'f', name: 'a.txt', mime: 'text/plain' }] }, {}, 'taken'],
  ['too long a text', { text: 'x'.repeat(101) }, {}, 'too-long'],
])('%s', (_, change, known, verdict) => {
  const judged = judge(text(change), facts(known))
  expect(judged.type === 'refused' ? judged.why : judged.type).toBe(verdict)
})
