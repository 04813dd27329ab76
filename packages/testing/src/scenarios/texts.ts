/** A long answer with the Markdown that models write. */
export const longMarkdown = [
  '# What was found',
  'The project has **three** parts, of which *one* is `broken`. See [the page](https://example.com/a_(b)) for more.',
  '## The list',
  '1. First this\n   - and below it that\n   - with `code`\n2. Then the other',
  '- [x] done\n- [ ] not done',
  '> A quotation, which goes on\n> over two lines.',
  '```ts\nexport const add = (a: number, b: number): number => {\n  // a fence inside: ``` is not the end of it\n  return a + b\n}\n```',
  '| name | lines | note |\n|---|---:|---|\n| `a.ts` | 12 | fine |\n| `b.ts` | 3,400 | **too long** |',
  '~~~\na tilde fence with ``` in it\n~~~',
  '---',
  ...Array.from(
    { length: 40 },
    (_, index) =>
      `Paragraph ${index + 1}: the quick brown fox jumps over the lazy dog, again and again, until a paragraph is long enough to be split somewhere by a channel with a small limit.`,
  ),
  '```python\nfor line in range(60):\n' +
    Array.from({ length: 60 }, (_, index) => `    print("line ${index}")`).join('\n') +
    '\n```',
  '## The end\nNothing more is to be said. \\*Not emphasised\\*, 3 < 4 & 5 > 4.',
].join('\n\n')

/** Text that breaks if it is cut between the wrong units. */
export const unicodeText =
  'Family: 👨‍👩‍👧‍👦, flag: 🇩🇪, thumbs: 👍🏽, keycap: 1️⃣, combined: e\u0301 and n\u0303, Zalgo: Z\u0351\u036b\u0343, Hebrew: שלום, Arabic: مرحبا, Han: 漢字かな, math: 𝒳𝒴, zero width: a\u200bb, end.'
