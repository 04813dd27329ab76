import type { ParseMode } from 'grammy/types'
import { describe, expect, test } from 'vitest'
import type { TelegramRichNode } from '../src/telegram/index.ts'
import { refusal, start } from './bot.ts'

/** What is shown of a text: the words, and which of them are what. */
const shown = async (source: string, parse_mode: ParseMode): Promise<unknown> => {
  const { telegram, api } = await start()
  const refused = await refusal(api.sendMessage(7, source, { parse_mode }))
  const [message] = telegram.screen(7)
  if (!message) return refused
  const marked = message.entities.map(({ type, offset, length, url, language }) =>
    [type, message.text.slice(offset, offset + length), url, language].filter((each) => each !== undefined),
  )
  return [message.text, ...marked]
}
const html = (source: string) => shown(source, 'HTML')
const markdown = (source: string) => shown(source, 'MarkdownV2')

describe('a text', () => {
  test('has 4096 UTF-16 units at most, after parsing', async () => {
    const { telegram, api } = await start()
    const full = `<b>${'&amp;'.repeat(2000)}</b>${'😀'.repeat(1048)}`
    await api.sendMessage(7, full, { parse_mode: 'HTML' })
    expect(telegram.screen(7)[0]?.text).toHaveLength(4096)
    expect(await refusal(api.sendMessage(7, `${full}x`, { parse_mode: 'HTML' }))).toBe(
      '400 Bad Request: message is too long',
    )
    expect(await refusal(api.editMessageText(7, 1, 'x'.repeat(4097)))).toBe('400 Bad Request: message is too long')
  })

  test('cannot be empty, only white space, or only tags', async () => {
    const { api } = await start()
    const empty = '400 Bad Request: message text is empty'
    expect(await refusal(api.sendMessage(7, ''))).toBe(empty)
    expect(await refusal(api.sendMessage(7, ' \n '))).toBe(empty)
    expect(await refusal(api.sendMessage(7, '<b> </b>', { parse_mode: 'HTML' }))).toBe(empty)
  })

  test('cannot contain half of a surrogate pair', async () => {
    const { telegram, api } = await start()
    const broken = '400 Bad Request: strings must be encoded in UTF-8'
    expect(await refusal(api.sendMessage(7, 'x\ud83d'))).toBe(broken)
    expect(await refusal(api.sendRichMessage(7, { markdown: '\udc4d' }))).toBe(broken)
    await api.sendMessage(7, '👍')
    expect(telegram.screen(7)).toMatchObject([{ text: '👍' }])
  })

  test('can be sent with its entities', async () => {
    const { telegram, api } = await start()
    await api.sendMessage(7, '  bold', { entities: [{ type: 'bold', offset: 2, length: 4 }] })
    expect(telegram.screen(7)).toMatchObject([{ text: 'bold', entities: [{ type: 'bold', offset: 0, length: 4 }] }])
    expect(await refusal(api.sendMessage(7, 'bold', { entities: [{ type: 'bold', offset: 2, length: 4 }] }))).toMatch(
      '400 Bad Request: entity beginning at UTF-16 offset 2 ends after the end of the text',
    )
  })

  test('in an unknown mode is rejected', async () => {
    expect(await shown('a', 'Markdown')).toBe('400 Bad Request: unsupported parse_mode')
  })
})

describe('HTML', () => {
  test('supports the tags of the Bot API', async () => {
    expect(await html('<b>b</b><strong>b</strong><i>i</i><em>i</em><u>u</u><ins>u</ins>')).toEqual([
      'bbiiuu',
      ...['bold', 'bold', 'italic', 'italic', 'underline', 'underline'].map((type, at) => [type, 'bbiiuu'[at]]),
    ])
    expect(await html('<s>s</s><strike>s</strike><del>s</del><code>c</code>')).toEqual([
      'sssc',
      ...['strikethrough', 'strikethrough', 'strikethrough', 'code'].map((type, at) => [type, 'sssc'[at]]),
    ])
    expect(await html('<tg-spoiler>a</tg-spoiler> <span class="tg-spoiler">b</span>')).toEqual([
      'a b',
      ['spoiler', 'a'],
      ['spoiler', 'b'],
    ])
    expect(await html('<blockquote>q</blockquote>\n<blockquote expandable>e</blockquote>')).toEqual([
      'q\ne',
      ['blockquote', 'q'],
      ['expandable_blockquote', 'e'],
    ])
  })

  test('reads links, languages and nesting', async () => {
    expect(await html('<a href="https://a.test/?x=1&amp;y=2">to <b>a</b></a>')).toEqual([
      'to a',
      ['text_link', 'to a', 'https://a.test/?x=1&y=2'],
      ['bold', 'a'],
    ])
    expect(await html('<pre><code class="language-ts">let a\n</code></pre> <pre>raw</pre>')).toEqual([
      'let a\n raw',
      ['pre', 'let a\n', 'ts'],
      ['pre', 'raw'],
    ])
  })

  test('allows no formatting in code', async () => {
    expect(await html('<b>a <code>x <i>y</i></code></b>')).toEqual(['a x y', ['bold', 'a x y'], ['code', 'x y']])
    expect(await html('<pre><code><b>x</b></code></pre>')).toEqual(['x', ['pre', 'x']])
  })

  test('knows four named entities and all numeric ones', async () => {
    expect(await html('&lt;b&gt; &amp;amp; &quot; &#65;&#x1F600; &nbsp; &')).toEqual(['<b> &amp; " A😀 &nbsp; &'])
  })

  test.each([
    ['<p>x</p>', 'Unsupported start tag "p" at byte offset 0'],
    ['ü < 3', 'Unsupported start tag "" at byte offset 3'],
    ['a <!-- b -->', 'Unsupported start tag "!--" at byte offset 2'],
    ['<b>x', 'Can\'t find end tag corresponding to start tag "b"'],
    ['<b>x<i>y</b></i>', 'Unmatched end tag at byte offset 8, expected "</i>", found "</b>"'],
    ['x</b>', 'Unexpected end tag at byte offset 1'],
    ['x <b', 'Unclosed start tag at byte offset 2'],
    ['<b>x</b', 'Unclosed end tag at byte offset 4'],
    ['<span>x</span>', 'Tag "span" must have class "tg-spoiler" at byte offset 0'],
  ])('says what is wrong with %s', async (source, what) => {
    expect(await html(source)).toBe(`400 Bad Request: can't parse entities: ${what}`)
  })
})

describe('MarkdownV2', () => {
  test('reads its formatting', async () => {
    expect(await markdown('*b* _i_ __u__ ~s~ ||h|| `c` [l](https://a.test/\\))')).toEqual([
      'b i u s h c l',
      ['bold', 'b'],
      ['italic', 'i'],
      ['underline', 'u'],
      ['strikethrough', 's'],
      ['spoiler', 'h'],
      ['code', 'c'],
      ['text_link', 'l', 'https://a.test/)'],
    ])
    expect(await markdown('*b _i_*\n```ts\na.b\\`\n```\n>q1\n>q2\nend')).toEqual([
      'b i\na.b`\n\nq1\nq2\nend',
      ['bold', 'b i'],
      ['italic', 'i'],
      ['pre', 'a.b`\n', 'ts'],
      ['blockquote', 'q1\nq2'],
    ])
  })

  test.each([
    ['a.', "Character '.' is reserved and must be escaped with the preceding '\\'"],
    ['ü *b', "Can't find end of Bold entity at byte offset 3"],
    ['`c', "Can't find end of Code entity at byte offset 0"],
  ])('says what is wrong with %s', async (source, what) => {
    expect(await markdown(source)).toBe(`400 Bad Request: can't parse entities: ${what}`)
  })
})

describe('a rich message', () => {
  const refusalOf = async (message: object): Promise<string> => {
    const { api } = await start()
    return refusal(api.raw.sendRichMessage({ chat_id: 7, rich_message: message }))
  }
  const rich = (markdown: string): Promise<string> => refusalOf({ markdown })

  const shown = async (message: object) => {
    const { telegram, api } = await start()
    await api.raw.sendRichMessage({ chat_id: 7, rich_message: message })
    const [{ text, loads, mentions, names, commands, rich: nodes } = expect.fail('Nothing was posted.')] =
      telegram.screen(7)
    return { text, loads, mentions, names, commands, tags: tagsOf(nodes) }
  }
  const tagsOf = (nodes: readonly TelegramRichNode[]): readonly string[] =>
    nodes.flatMap((node) => (typeof node === 'string' ? [] : [node.tag, ...tagsOf(node.children)]))

  test('shows the text of its Markdown, and can replace a text', async () => {
    const { telegram, api } = await start()
    await api.raw.sendRichMessage({ chat_id: 7, rich_message: { markdown: '# One\n\n<unknown> **b**' } })
    await api.sendMessage(7, 'two')
    await api.raw.editMessageText({ chat_id: 7, message_id: 2, rich_message: { markdown: '`two`' } })
    expect(telegram.screen(7).map(({ text, mode }) => [text, mode])).toEqual([
      ['One\n\nb', 'rich'],
      ['two', 'rich'],
    ])
  })

  test('shows lists, tables, quotes and code of HTML, with white space only in code', async () => {
    const html = [
      '<h1>a</h1>\n\n<p>b\n  <b>c</b><br>d</p>',
      '<ol><li value="3">e<ul><li><input type="checkbox" checked>f</li></ul></li></ol>',
      '<blockquote><p>g</p></blockquote><hr/><pre><code class="language-ts">h\n  i</code></pre>',
      '<table><tr><th>j</th><th>k</th></tr><tr><td>l</td><td>m</td></tr></table>',
    ].join('\n')
    const { text } = await shown({ html })
    const lines = ['a', '', 'b c', 'd', '', '3. e', '  ☑ f', '', 'g', '', '———', '', 'h', '  i', '', 'j │ k', 'l │ m']
    expect(text.split('\n')).toEqual(lines)
  })

  test.each([
    ['inline', '![](https://e.test/1)'],
    ['by reference', '![a][1]\n\n[1]: https://e.test/1'],
    ['in a link', '[![a](https://e.test/1)](https://b.test)'],
    ['in a cell', '| a |\n|---|\n| ![b](https://e.test/1) |'],
    ['in HTML', 'a <img src="https://e.test/1"> b'],
    ['in a collage', '<tg-collage>\n\n![](https://e.test/1)\n\n</tg-collage>'],
  ])('loads a picture %s', async (_, markdown) => {
    expect((await shown({ markdown })).loads).toEqual(['https://e.test/1'])
  })

  test('loads nothing for its own pictures, and for addresses in code', async () => {
    const { loads, tags } = await shown({ markdown: '![👍](tg://emoji?id=1) `![](https://e.test/1)`' })
    expect([loads, tags]).toEqual([[], ['p', 'tg-emoji', 'code']])
  })

  test('has buttons, maps, details, spoilers and formulas, also in Markdown', async () => {
    const markdown = [
      '<details open><summary>a</summary>\n\nb ||c|| ==d== $e$\n\n</details>',
      '<tg-map lat="1" long="2" zoom="14"/>',
      '<tg-button type="web_app" url="https://e.test">f</tg-button>',
    ].join('\n\n')
    const { tags } = await shown({ markdown })
    expect(tags).toEqual(
      expect.arrayContaining(['details', 'summary', 'tg-spoiler', 'mark', 'tg-math', 'tg-map', 'tg-button']),
    )
  })

  test('mentions people by links, and by names if it is not told otherwise', async () => {
    const html = '<p>@some_body /start <a href="tg://user?id=5">A</a> <code>@not_me</code></p>'
    expect(await shown({ html })).toMatchObject({ mentions: [5], names: ['some_body'], commands: ['start'] })
    expect(await shown({ html, skip_entity_detection: true })).toMatchObject({ mentions: [5], names: [], commands: [] })
  })

  test('shows escaped markup as text', async () => {
    const html = '<p>&lt;img src="https://e.test"&gt; &amp;lt;</p>'
    expect(await shown({ html })).toMatchObject({ text: '<img src="https://e.test"> &lt;', loads: [], tags: ['p'] })
  })

  test('has 32,768 code points at most', async () => {
    expect(await rich('😀'.repeat(32_768))).toMatch('done')
    expect(await rich('x'.repeat(32_769))).toBe('400 Bad Request: message is too long')
    expect(await rich(' ')).toBe('400 Bad Request: message text is empty')
  })

  test.each([
    ['paragraphs', 'a\n\n', 500],
    ['headings', '# a\n', 500],
    ['list items, with the list itself and a paragraph in each', '- a\n', 249],
    ['table rows, with the table itself', '| a | b |\n', 498, '| a | b |\n|---|---|\n'],
  ])('has 500 blocks at most: %s', async (_, block, most, head = '') => {
    expect(await rich(head + block.repeat(most))).toMatch('done')
    expect(await rich(head + block.repeat(most + 1))).toMatch('400 Bad Request: rich message has too many blocks')
  })

  test('has 16 levels and 20 columns at most', async () => {
    const nested = (depth: number): string => `${'<blockquote>'.repeat(depth)}a`
    expect(await refusalOf({ html: nested(16) })).toMatch('done')
    expect(await refusalOf({ html: nested(17) })).toMatch('400 Bad Request: rich message is nested too deep')
    const row = (cells: number): string => `<table><tr>${'<td>a</td>'.repeat(cells)}</tr></table>`
    expect(await refusalOf({ html: row(20) })).toMatch('done')
    expect(await refusalOf({ html: row(21) })).toMatch('400 Bad Request: rich message table has too many columns')
  })

  test('has 500 blocks at most, and a fence counts as one', async () => {
    expect(await rich(`\`\`\`\n${'# a\n\n'.repeat(600)}\`\`\`\n\nend`)).toMatch('done')
  })
})
