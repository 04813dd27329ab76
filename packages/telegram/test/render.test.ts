import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { renderHtml, renderRich } from '../src/render.ts'

vi.setConfig({ testTimeout: 60_000 })

test.each<[string, string, string]>([
  ['', '', ''],
  ['plain', 'plain', 'plain'],
  ['a < b & c > d "e"', 'a &lt; b &amp; c &gt; d "e"', 'a < b & c > d "e"'],
  ['&amp; &lt;b&gt; &#65; &copy;', '&amp; &lt;b&gt; A &amp;copy;', '& <b> A &copy;'],
  ['**b** __b__', '<b>b</b> <b>b</b>', 'b b'],
  ['*i* _i_', '<i>i</i> <i>i</i>', 'i i'],
  ['~~s~~', '<s>s</s>', 's'],
  ['**b *i***', '<b>b <i>i</i></b>', 'b i'],
  ['\\*a\\* \\<', '*a* &lt;', '*a* <'],
  ['`a < b`', '<code>a &lt; b</code>', 'a < b'],
  ['``a ` b``', '<code>a ` b</code>', 'a ` b'],
  ['```\na < b\n```', '<pre>a &lt; b</pre>', 'a < b'],
  ['```ts title=x\na()\n\nb()\n```', '<pre><code class="language-ts">a()\n\nb()</code></pre>', 'a()\n\nb()'],
  ['```c++\na\n```', '<pre><code class="language-c++">a</code></pre>', 'a'],
  ['```"><b>\na\n```', '<pre>a</pre>', 'a'],
  ['```ts\n```', '', ''],
  ['a\n\n    code', 'a\n\n<pre>code</pre>', 'a\n\ncode'],
  ['[t](https://a.b/?x=1&y="2")', '<a href="https://a.b/?x=1&amp;y=&quot;2&quot;">t</a>', 't'],
  ['[**t**](mailto:a@b.c)', '<a href="mailto:a@b.c"><b>t</b></a>', 't'],
  ['[t](tg://resolve?domain=x)', '<a href="tg://resolve?domain=x">t</a>', 't'],
  ['[t](tg://user?id=1)', 't', 't'],
  ['[t](javascript:alert)', 't', 't'],
  ['[t](/local)', 't', 't'],
  ['https://a.b', '<a href="https://a.b">https://a.b</a>', 'https://a.b'],
  ['![alt](https://a.b/i.png)', '<a href="https://a.b/i.png">alt</a>', 'alt'],
  ['![](https://a.b/i.png)', '<a href="https://a.b/i.png">image</a>', 'image'],
  ['[![alt](https://a.b/i.png)](https://c.d)', '<a href="https://c.d">alt</a>', 'alt'],
  ['# Head *i*', '<b>Head <i>i</i></b>', 'Head i'],
  ['Head\n---\ntext', '<b>Head</b>\ntext', 'Head\ntext'],
  ['# a\n\ntext', '<b>a</b>\n\ntext', 'a\n\ntext'],
  ['a\nb', 'a\nb', 'a\nb'],
  ['a  \nb', 'a\nb', 'a\nb'],
  ['a\n\n\n\nb', 'a\n\nb', 'a\n\nb'],
  ['- a\n- b', '• a\n• b', '• a\n• b'],
  ['3. a\n3. b', '3. a\n4. b', '3. a\n4. b'],
  ['- a\n  - b\n    1. c\n- d', '• a\n  • b\n    1. c\n• d', '• a\n  • b\n    1. c\n• d'],
  ['- [ ] a\n- [x] b', '☐ a\n☑ b', '☐ a\n☑ b'],
  ['- [ ] a\n\n- [x] b', '☐ a\n☑ b', '☐ a\n☑ b'],
  ['- a\n  ```js\n  x\n  ```', '• a\n<pre><code class="language-js">x</code></pre>', '• a\nx'],
  ['-', '•', '•'],
  ['- - a', '• • a', '• • a'],
  ['> a\n> **b**', '<blockquote>a\n<b>b</b></blockquote>', 'a\nb'],
  ['> a\n>> b', '<blockquote>a\nb</blockquote>', 'a\nb'],
  ['a\n\n---\n\nb', 'a\n\n———\n\nb', 'a\n\n———\n\nb'],
  ['<b>x</b> <script>', '&lt;b&gt;x&lt;/b&gt; &lt;script&gt;', '<b>x</b> <script>'],
  ['<div>\n**x**\n</div>', '&lt;div&gt;\n<b>x</b>\n&lt;/div&gt;', '<div>\nx\n</div>'],
  ['a<br>b', 'a\nb', 'a\nb'],
  ['| a | b |\n|---|--:|\n| `c` | **dd** |', '<pre>a │  b\n──┼───\nc │ dd</pre>', 'a │  b\n──┼───\nc │ dd'],
  ['[t][1]\n\n[1]: https://a.b', '<a href="https://a.b">t</a>\n\n[1]: https://a.b', 't\n\n[1]: https://a.b'],
  ['@name', '@name', '@name'],
])('%j', (source, text, plain) => {
  expect(renderHtml(source)).toEqual({ text, plain, length: plain.length })
})

test('a rich message is its source, counted in code points', () => {
  const words = `**a** ${'👍'.repeat(100)}`
  expect(renderRich(words)).toEqual({ text: words, plain: `a ${'👍'.repeat(100)}`, length: 106 })
})

test.each([
  ['paragraphs', 'word\n\n'.repeat(501), false],
  ['lines of a paragraph', 'word\n'.repeat(501), true],
  ['items of a list', '- item\n'.repeat(500), false],
  ['rows of a table', `| a |\n|---|\n${'| b |\n'.repeat(499)}`, false],
  ['headings', '# a\n'.repeat(501), false],
  ['items', '1. item\n'.repeat(499), true],
  ['lines of code', `\`\`\`\n${'- item\n'.repeat(600)}\`\`\``, true],
])('%s count as the blocks that they are, of which a rich message takes 500', (_, source, fits) => {
  expect(renderRich(source).length <= 32_768).toBe(fits)
})

test('thousands of nested quotes are shown as they are', () => {
  expect(renderHtml('>'.repeat(20_000)).plain).toMatch(/^>*$/)
})

const TAGS = new Set(['b', 'i', 's', 'code', 'pre', 'a', 'blockquote'])

/** What Telegram would show, or an error that it would answer. */
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
        tag === 'a'
          ? / href="(https?:|mailto:|tg:\/\/(?!user))[^"]+"$/i
          : tag === 'code'
            ? /^( class="language-[^"]+")?$/
            : /^$/
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

describe('whatever the source is', () => {
  test('its HTML is taken by Telegram and says what plain says', () => {
    fc.assert(
      fc.property(markdown, (source) => {
        const { text, plain, length } = renderHtml(source)
        expect(parsed(text)).toBe(plain)
        expect(length).toBe(plain.length)
      }),
      { numRuns: 3000 },
    )
  })

  test('it does not grow but for tables, tabs and numbers', () => {
    fc.assert(
      fc.property(markdown, (source) => {
        fc.pre(!/[\t|]|\d[.)]/.test(source))
        expect(renderHtml(source).length).toBeLessThanOrEqual(source.length)
      }),
      { numRuns: 3000 },
    )
  })
})
