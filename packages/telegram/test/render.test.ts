import { markdownCases, renderings } from '@reply/testing/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { measureRich, readRich, textOfRich } from '../../testing/src/telegram/rich.ts'
import { renderHtml, renderRich } from '../src/render.ts'

test.each(Object.entries(markdownCases))('%s: %j', (name, source) => {
  const { text, plain, length } = renderHtml(source)
  expect(text).toBe(new Map(Object.entries(renderings.telegram)).get(name))
  expect([parsed(text), length]).toEqual([plain, plain.length])
})

test.each([
  ['**a** *b* ~~c~~ `d  < e`', '<p><b>a</b> <i>b</i> <s>c</s> <code>d  &lt; e</code></p>'],
  ['a\nb  \nc\n\nd', '<p>a<br>b<br>c</p>\n\n<p>d</p>'],
  ['# A *b*\n\n###### C', '<h1>A <i>b</i></h1>\n\n<h6>C</h6>'],
  ['- a\n- b\n  1. c', '<ul><li>a</li><li>b\n<ol><li value="1">c</li></ol></li></ul>'],
  ['7. a\n8. b', '<ol><li value="7">a</li><li value="8">b</li></ol>'],
  ['- [x] a\n- [ ] b', '<ul><li><input type="checkbox" checked>a</li><li><input type="checkbox">b</li></ul>'],
  ['- a\n\n  b\n- c', '<ul><li><p>a</p>\n\n<p>b</p></li><li><p>c</p></li></ul>'],
  ['-\n- b', '<ul><li>&nbsp;</li><li>b</li></ul>'],
  ['> a\n> > b', '<blockquote><p>a</p>\n<blockquote><p>b</p></blockquote></blockquote>'],
  ['```ts\na < b\n\n  c\n```', '<pre><code class="language-ts">a &lt; b\n\n  c</code></pre>'],
  ['a\n\n---\n\nb', '<p>a</p>\n\n<hr/>\n\n<p>b</p>'],
  [
    '| a | **b** |\n|--|:-:|\n| `<c>` | [d](https://e.f) |',
    '<table><tr><th>a</th><th align="center"><b>b</b></th></tr><tr><td><code>&lt;c&gt;</code></td><td align="center"><a href="https://e.f">d</a></td></tr></table>',
  ],
  ['a < b && c > d', '<p>a &lt; b &amp;&amp; c &gt; d</p>'],
  ['Array<string> and <T>', '<p>Array&lt;string&gt; and &lt;T&gt;</p>'],
  ['a<br>b', '<p>a<br>b</p>'],
  ['<br>', ''],
])('a rich message of %j', (source, html) => {
  expect(renderRich(source).text).toBe(html)
})

test.each(Object.entries(markdownCases))('%s: %j as a rich message shows what HTML shows', (_, source) => {
  const bare = (text: string): string => text.replace(/[\u2060•☐☑│┼─\s]|\d+\./g, '')
  expect(
    bare(
      renderRich(source)
        .text.replace(/<[^>]*>/g, ' ')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&nbsp;', ' ')
        .replaceAll('&amp;', '&'),
    ),
  ).toBe(bare(renderHtml(source).plain).replaceAll('———', ''))
})

test('a table of over 20 columns is a block of code', () => {
  const row = (cell: string): string => `|${` ${cell} |`.repeat(21)}`
  expect(renderRich(`${row('**a**')}\n${row('--')}\n${row('<b>')}`).text).toMatch(
    /^<pre>a +│ a[^<]*&lt;b&gt; │[^<]*<\/pre>$/,
  )
})

test('blocks and formats are in each other at most as deep as Telegram takes', () => {
  const depthOf = (html: string): number => {
    let [depth, most] = [0, 0]
    for (const [tag] of html.matchAll(/<[^>]*>/g)) {
      if (tag.startsWith('</')) depth -= 1
      else if (!/^<(?:br|hr|input)/.test(tag)) most = Math.max(most, ++depth)
    }
    return most
  }
  const nested = Array.from({ length: 11 }, (_, at) => `${'  '.repeat(at)}- item ${at}`).join('\n')
  const { text, plain } = renderRich(nested)
  expect(depthOf(text)).toBeLessThanOrEqual(15)
  expect(text).toContain('item 10')
  expect(plain).toContain('item 10')
  expect(depthOf(renderRich('> > > > > > > > > > - - - **_~~a~~_**').text)).toBeLessThanOrEqual(15)
})

test.each(['> ', '` `` ', '- ', '~~~ ', '\\`', '1. ', '  ', '`\n', '\n'])(
  '%j a thousand times takes no long',
  (piece) => {
    const begun = performance.now()
    renderRich(`@a ${piece.repeat(8000)}@b`)
    expect(performance.now() - begun).toBeLessThan(2000)
  },
)

test.each([
  ['\\@bob', '@\u2060bob'],
  ['Ask @somebody_else, not a@b.example', 'Ask @\u2060somebody_else, not <a href="mailto:a@b.example">a@b.example</a>'],
  ['Open tg://resolve?domain=x', 'Open tg:\u2060//resolve?domain=x'],
  ['t**g**\\://x `tg://x`', 't<b>g</b>:\u2060//x <code>tg://x</code>'],
  ['[her](tg://user?id=7) [it](tg://resolve?domain=x)', 'her (tg:\u2060//user?id=7) it (tg:\u2060//resolve?domain=x)'],
  ['@**bob**', '@\u2060<b>bob</b>'],
  ['&#64;bob', '@\u2060bob'],
  ['@@bob', '@\u2060@\u2060bob'],
  [
    'See a/@bob or https://x.example/@bob',
    'See a/@\u2060bob or <a href="https://x.example/@bob">https://x.example/@bob</a>',
  ],
])('HTML mentions no one: %j', (source, text) => {
  expect(renderHtml(source).text).toBe(text)
})

test('a rich message is counted in code points of its text', () => {
  const words = 'a '.repeat(50) + '👍'.repeat(100)
  expect(renderRich(`**${words}** <`)).toEqual({
    text: `<p><b>${words}</b> &lt;</p>`,
    plain: `${words} <`,
    length: 202,
  })
})

test.each([
  ['paragraphs', 'word\n\n'.repeat(501), false],
  ['lines of a paragraph', 'word\n'.repeat(501), true],
  ['items of a list', '- item\n'.repeat(500), false],
  ['rows of a table', `| a |\n|---|\n${'| b |\n'.repeat(499)}`, false],
  ['headings', '# a\n\n'.repeat(150) + 'word\n\n'.repeat(351), false],
  ['texts beside blocks of an item', '- ```\n  a\n  ```\n  b\n'.repeat(167), false],
  ['items, each with its paragraph', '1. item\n'.repeat(249), true],
  ['more items', '1. item\n'.repeat(250), false],
  ['lines of code', `\`\`\`\n${'- item\n'.repeat(600)}\`\`\``, true],
])('%s count towards the 500 blocks of a rich message', (_, source, fits) => {
  expect(renderRich(source).length <= 32_768).toBe(fits)
})

test('a text with over 100 formats loses emphasis first, then code spans', () => {
  const words = (count: number, one: (at: number) => string): string =>
    Array.from({ length: count }, (_, at) => one(at)).join(' ')
  const formatsOf = (source: string): readonly string[] => [...new Set(renderHtml(source).text.match(/<\w+/g))]
  const code = '\n\n```\na\n```'
  expect(formatsOf(`${words(99, (at) => `**${at}**`)}${code}`)).toEqual(['<b', '<pre'])
  expect(formatsOf(`${words(100, (at) => `**${at}**`)} \`a\`${code}`)).toEqual(['<code', '<pre'])
  expect(formatsOf(`${words(100, (at) => `\`${at}\` *a*`)} [a](https://a.b)${code}`)).toEqual(['<a', '<pre'])
  const { plain, length } = renderHtml(words(200, (at) => `**${at}**`))
  expect([plain, length]).toEqual([words(200, String), plain.length])
})

test('links and blocks of code beyond 100 formats are written out', () => {
  const links = Array.from({ length: 130 }, (_, at) => `- [n${at}](https://a.b/${at}?c&d)`).join('\n')
  const { text, plain, length } = renderHtml(links)
  expect(text.match(/<a /g)).toHaveLength(100)
  expect(text).toContain('• <a href="https://a.b/99?c&amp;d">n99</a>\n• n100 (https://a.b/100?c&amp;d)\n')
  expect(plain).toContain('n129 (https://a.b/129?c&d)')
  expect(length).toBeLessThanOrEqual(links.length)
  const blocks = Array.from({ length: 130 }, (_, at) => `\`\`\`ts\na < ${at}\n\`\`\``).join('\n')
  expect(renderHtml(blocks).text.match(/<pre>/g)).toHaveLength(100)
  expect(renderHtml(blocks).text).toMatch(/a &lt; 129$/)
  const named = `${Array.from({ length: 130 }, (_, at) => `[n${at}][1]`).join(' ')}\n\n[1]: https://a.b/${'x'.repeat(50)}`
  expect(renderHtml(named).length).toBeLessThanOrEqual(named.length)
})

test('a megabyte of links takes little time', () => {
  const source = 'a@b.c '.repeat(170_000)
  const startedAt = performance.now()
  expect(renderHtml(source).plain).toHaveLength(source.trim().length)
  // Time that grows with the square was a minute and a half.
  expect(performance.now() - startedAt).toBeLessThan(30_000)
})

test('thousands of nested quotes are shown literally', () => {
  expect(renderHtml('>'.repeat(20_000)).plain).toMatch(/^>*$/)
})

const TAGS = new Set(['b', 'i', 's', 'code', 'pre', 'a', 'blockquote'])

/** What Telegram would show, or the error it would answer. */
function parsed(html: string): string {
  const open: string[] = []
  let text = ''
  for (const [piece, close, tag = '', attributes = '', entity] of html.matchAll(
    /<(\/?)([a-z]+)((?: [a-z]+="[^"<>]*")*)>|&(\w+);|[^<>&]+|[<>&]/g,
  )) {
    if (tag !== '') {
      if (!TAGS.has(tag)) throw new Error(`${tag} is no tag`)
      if (close === '/' && open.pop() !== tag) throw new Error(`${tag} closes another`)
      if (close === '' && (tag === 'a' || tag === 'blockquote' || tag === 'pre') && open.includes(tag)) {
        throw new Error(`${tag} in itself`)
      }
      if (close === '') open.push(tag)
      const allowed =
        tag === 'a' ? / href="(https?:|mailto:)[^"]+"$/i : tag === 'code' ? /^( class="language-[^"]+")?$/ : /^$/
      if (close === '' && !allowed.test(attributes)) throw new Error(`${tag} with ${attributes}`)
      if (/&(?!amp;|lt;|gt;|quot;)/.test(attributes)) throw new Error(attributes)
    } else if (entity !== undefined) {
      const letter = { amp: '&', lt: '<', gt: '>' }[entity]
      if (letter === undefined) throw new Error(`${entity} is no entity`)
      text += letter
    } else if (/^[<>&]$/.test(piece)) throw new Error(`a lone ${piece}`)
    else text += piece
  }
  if (open.length > 0) throw new Error(`${open} is open`)
  return text
}

const fragments = [
  '**',
  '*',
  '_',
  '~~',
  '`',
  '```',
  '```ts\n',
  '\n',
  '\n\n',
  '> ',
  '- ',
  '  - ',
  '1. ',
  '# ',
  '[',
  '](',
  ')',
  '![',
  '|',
  '|---|---|\n',
  '| a | b |\n',
  '\n| a | b |\n|---|---|\n| 1 | `<2>` |\n',
  '<b>',
  '</b>',
  '<br>',
  '<a href="x">',
  '&',
  '&lt;',
  '&#60;',
  '"',
  "'",
  '[t](https://a.b?c="d"&e=<f>)',
  '[t](<https://a b>)',
  '![i](https://a.b)',
  'https://a.b/<c>',
  '<https://a.b>',
  'a@b.c',
  '[x]: https://a.b "t"\n',
  '[x]',
  '\\',
  '---\n',
  '    code\n',
  '\t',
  '- [x] t\n',
  'word ',
  '👍🏽',
  '\ud83d',
  '<!--',
  '-->',
  '<div>\n',
  '[![i](https://a.b)](https://c.d) ',
]
const markdown = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.oneof(fc.constantFrom(...fragments), fc.string({ maxLength: 4 })), { maxLength: 40 })
    .map((parts) => parts.join('')),
)

describe('any source', () => {
  test('makes a rich message of a size that Telegram takes, or of the length that it says', () => {
    fc.assert(
      fc.property(markdown, (source) => {
        const { text, length } = renderRich(source)
        const { codePoints, blocks, depth, columns } = measureRich(readRich({ html: text }))
        expect([depth <= 16, columns <= 20]).toEqual([true, true])
        expect(codePoints).toBeLessThanOrEqual(length)
        expect(Math.ceil((blocks / 500) * 32_768)).toBeLessThanOrEqual(length)
      }),
      { numRuns: 3000 },
    )
  })

  test('shows the same letters in a rich message as in HTML', () => {
    const letters = (text: string): string => text.replace(/[^\p{L}\p{N}<>&]|\d+\./gu, '')
    fc.assert(
      fc.property(markdown, (source) => {
        const shown = textOfRich(readRich({ html: renderRich(source).text }))
        expect(letters(shown)).toBe(letters(renderHtml(source).plain))
      }),
      { numRuns: 3000 },
    )
  })

  test('makes HTML that Telegram accepts and shows as plain', () => {
    fc.assert(
      fc.property(markdown, (source) => {
        const { text, plain, length } = renderHtml(source)
        expect(parsed(text)).toBe(plain)
        expect(length).toBe(plain.length)
      }),
      { numRuns: 3000 },
    )
  })

  test('grows only by tables, tabs, numbers and mentions', () => {
    fc.assert(
      fc.property(markdown, (source) => {
        fc.pre(!/[\t|]|\d[.)]/.test(source))
        expect(renderHtml(source).length).toBeLessThanOrEqual(source.length + 2 * (source.split('@').length - 1))
      }),
      { numRuns: 3000 },
    )
  })
})
