import { markdownCases, renderings } from '@reply/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderHtml, renderRich } from '../src/render.ts'

test.each(Object.entries(markdownCases))('%s: %j', (name, source) => {
  const { text, plain, length } = renderHtml(source)
  expect(text).toBe(new Map(Object.entries(renderings.telegram)).get(name))
  expect([parsed(text), length]).toEqual([plain, plain.length])
})

test.each([
  ['Ask @somebody_else, not a@b.example', 'Ask @\u2060somebody_else, not a@b.example'],
  ['`@somebody` and\n```\n@somebody\n```\nand @somebody', '`@somebody` and\n```\n@somebody\n```\nand @\u2060somebody'],
  ['\\`@escaped\\` and \\\\`@code`', '\\`@\u2060escaped\\` and \\\\`@code`'],
  ['&#64;bob &#x40;bob &commat;bob a &amp; b', '@\u2060bob @\u2060bob @\u2060bob a &amp; b'],
  ['\\@bob @**bob** @@bob', '\\@\u2060bob @\u2060**bob** @\u2060@\u2060bob'],
  ['a/@bob https://x.example/@bob', 'a/@\u2060bob https://x.example/@bob'],
  ['[her][1]\n\n[1]: tg://user?id=7', '[her][1]\n\n[1]: tg\u2060://user?id=7'],
  ['<tg://user?id=7> [her](tg\\://user?id=7)', '<tg\u2060://user?id=7> [her](tg\u2060\\://user?id=7)'],
  ['See ``` for it. Thanks @bob', 'See ``` for it. Thanks @\u2060bob'],
  ['~~~ @bob\n\n@bob', '~~~ @bob\n\n@bob'],
  ['Not ~~~ here @bob', 'Not ~~~ here @\u2060bob'],
  ['`` a ` @code `` and ` @bob', '`` a ` @code `` and ` @\u2060bob'],
  ['Half ` a\n\n@bob ` b', 'Half ` a\n\n@\u2060bob ` b'],
  ['Half ` a\n- @bob ` b', 'Half ` a\n- @\u2060bob ` b'],
  ['```py\n@code\n\n@code\n```\n@bob', '```py\n@code\n\n@code\n```\n@\u2060bob'],
  ['> ```\n> @code\n\n@bob', '> ```\n> @code\n\n@\u2060bob'],
  ['- ```\n  @code\n\n  @code\n\n@bob', '- ```\n  @code\n\n  @code\n\n@\u2060bob'],
  ['1. See:\n   ```\n   @code\n   ```\n   @bob', '1. See:\n   ```\n   @code\n   ```\n   @\u2060bob'],
  ['[her](tg://user?id=7) [it](tg://resolve?domain=x)', '[her](tg\u2060://user?id=7) [it](tg://resolve?domain=x)'],
])('a rich message mentions no one: %j', (source, text) => {
  expect(renderRich(source).text).toBe(text)
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

describe('any source', () => {
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
        expect(renderHtml(source).length).toBeLessThanOrEqual(source.length + source.split('@').length - 1)
      }),
      { numRuns: 3000 },
    )
  })
})
