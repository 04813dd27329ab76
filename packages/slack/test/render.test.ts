import { markdownCases, renderings } from '@reply/testing/internal'
import { startSlack } from '@reply/testing/slack'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { messageContent } from '../src/port.ts'
import { clipWellFormed, escaped, renderSlack } from '../src/render.ts'
import { clientOf, token } from './app.ts'

const joiner = /\u2060/g

test.each(Object.entries(markdownCases))('%s: %j', (name, source) => {
  const { text, length } = renderSlack(source)
  expect(text).toBe(new Map(Object.entries(renderings.slack)).get(name))
  expect(length).toBe(text.length)
})

test.each([
  ['markup is left out', '**a** _b_ ~~c~~ `d` [e](https://f.g)', 'a b c d e'],
  [
    'blocks keep their lines',
    '# T\n\n- a\n  - b\n\n1. c\n\n> q\n\n```ts\nx = 1\n```',
    'T\n\n• a\n  • b\n\n1. c\n\nq\n\nx = 1',
  ],
  ['boxes are boxes', '- [x] a\n- [ ] b', '☑ a\n☐ b'],
  ['tables have columns', '| a | b |\n|---|---|\n| c | d |', 'a │ b\n──┼──\nc │ d'],
])('plain text: %s', (_, source, plain) => {
  expect(renderSlack(source).plain).toBe(plain)
})

test.each([
  ['everybody', '<!channel> <!here|here> <!everyone>'],
  ['a group', '<!subteam^S123|@team>'],
  ['a person', '<@U123ABC> and <@W1|Ada>'],
  ['in code', '`<!channel>`\n\n```\n<!here>\n```'],
  ['in capitals', '<!CHANNEL>'],
])('mentions no one: %s', (_, source) => {
  const { text, plain } = renderSlack(source)
  expect(text.replace(joiner, '')).toBe(source)
  expect(text).not.toMatch(/<[!@]\w|\]\(\s*<?[!@]/)
  expect(plain).not.toMatch(/<[!@]\w/)
})

test('mentions no one by a link', () => {
  const { text } = renderSlack('[x](!channel) [y](<@U123>) [z]( @U1)\n\n[r]\n\n[r]: !here')
  expect(text).toBe('[x]\u2060(!channel) [y]\u2060(<\u2060@U123>) [z]\u2060( @U1)\n\n[r\u2060]\n\n[r]: \u2060!here')
})

test.each([
  ['[a](https://x.example) <https://x.example> ![b](https://x.example/i.png)', undefined],
  [
    '[a](slack://open) <slack://open> slack://open',
    '[a]\u2060(slack:\u2060//open) <\u2060slack:\u2060//open> slack:\u2060//open',
  ],
  [
    '[**a** `b`](javascript:alert) ![b](data:text/html,x)',
    '[**a** `b`]\u2060(javascript:alert) ![b]\u2060(data:text/html,x)',
  ],
  ['![](!here) [all](!channel) [b](/c)', '![]\u2060(!here) [all]\u2060(!channel) [b]\u2060(/c)'],
  ['https://bank.example@x.example', 'https:\u2060//bank.example@x.example'],
  ['[a](https://bank.example&#64;x.example)', '[a]\u2060(https:\u2060//bank.example&#64;x.example)'],
  ['[bank&#46;example](https://x.example)', 'bank&#46;example (<https://x.example>)'],
  ['[https://bank.example](https://x.example)', 'https://bank.example (<https://x.example>)'],
  ['[https://bank.example][1]\n\n[1]: https://x.example', 'https://bank.example\n\n[1]: https://x.example'],
  [
    '| a |\n|---|\n| [b](tg://x) |\n\n- [c](tg://x)',
    '| a |\n|---|\n| [b]\u2060(tg:\u2060//x) |\n\n- [c]\u2060(tg:\u2060//x)',
  ],
  ['<https://x.example|https://bank.example>', '<\u2060https://x.example|https://bank.example>'],
  ['<!date^1^{date}^https://x.example|b>', '<\u2060!date^1^{date}^https://x.example|b>'],
  ['`[b](tg://x)` [b](tg://x)', '`[b]\u2060(tg:\u2060//x)` [b]\u2060(tg:\u2060//x)'],
])('only links to the web and to mail are links, and show where they lead: %s', (source, text) => {
  expect(renderSlack(source).text).toBe(text ?? source)
})

test('code that only resembles a mention is unchanged', () => {
  for (const source of ['`<!-- x -->`', '<!DOCTYPE html>', 'npm i @reply/core', 'a@here.org is @hereby', '<@123>']) {
    const rest = source.replace('a@here.org', 'a@\u2060here.org')
    expect(renderSlack(source).text).toBe(rest)
  }
})

test('a fallback text is short and never ends in half a surrogate pair', () => {
  expect(clipWellFormed('abcdef', 4)).toBe('abc…')
  expect(clipWellFormed('ab👍👍', 4)).toBe('ab…')
  expect(clipWellFormed('a\ud83d', 4)).toBe('a\ufffd')
  expect(renderSlack('a\ud83d').text).toBe('a\ufffd')
  expect(escaped('a < b && c > d')).toBe('a &lt; b &amp;&amp; c &gt; d')
})

const fragments = [
  ...['**', '*', '_', '~~', '`', '```', '```ts\n', '\n', '\n\n', '> ', '- ', '1. ', '# ', '[', '](', ')', '!['],
  ...['|', '|---|\n', '<', '!', '@', '#', '<!', '<@', '<#', '>', '|', '^', 'channel', 'here', 'everyone', 'subteam^S1'],
  ...['U123', 'W1', 'C123', '<!channel>', '<@U1>', '@here', '](!here)', '](<@U1>)', '[x]: !channel\n', '&', '&lt;'],
  ...['<b>', '\\', 'https://a.b', '👍🏽', '\ud83d', 'word ', '\t', '(', ' '],
]
const markdown = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.oneof(fc.constantFrom(...fragments), fc.string({ maxLength: 4 })), { maxLength: 40 })
    .map((parts) => parts.join('')),
)

describe('any source', () => {
  test('keeps its text, mentions no one, and renders to itself', () => {
    fc.assert(
      fc.property(markdown, (source) => {
        const { text, plain, length } = renderSlack(source)
        expect(text.replace(joiner, '')).toBe(source.replace(joiner, '').replace(/\p{Surrogate}/gu, '\ufffd'))
        expect(renderSlack(text)).toEqual({ text, plain, length })
        expect(length).toBe(text.length)
      }),
      { numRuns: 3000 },
    )
  })

  test('makes blocks that Slack accepts without a mention', async () => {
    const slack = await startSlack({ token })
    const api = clientOf(slack)
    try {
      const root = slack.say('D1', 'Go')
      const { ts = '' } = await api.chat.postMessage({ channel: 'D1', thread_ts: root, text: 'x' })
      await fc.assert(
        fc.asyncProperty(markdown, fc.boolean(), async (source, isPlain) => {
          const { text, plain, length } = renderSlack(source)
          fc.pre(plain.trim() !== '' && length > 0)
          const bubble = { text: isPlain ? plain : text, plain, length, source, isPlain, buttons: [] }
          const before = slack.calls.length
          await api.apiCall('chat.update', { channel: 'D1', ts, ...messageContent(bubble) })
          expect(slack.calls.slice(before).map(({ ok }) => ok)).toEqual([true])
          expect(slack.mentions).toEqual([])
        }),
        { numRuns: 45 },
      )
    } finally {
      await slack.close()
    }
  })
})
