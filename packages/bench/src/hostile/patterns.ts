/** A text that a model could write and that costs a reader of Markdown more than its length. */
export interface Pattern {
  readonly id: string
  /**
   * Returns a text of about `units` UTF-16 units. Each `round` below `roundCount` gives a different text, so that no
   * cache has seen it. Most throw a `RangeError` for a higher one.
   */
  write(units: number, round: number): string
}

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** How many different texts each pattern has. */
export const roundCount = letters.length

/** The text that every pattern is compared with: paragraphs without any markup. */
export const plainText: Pattern = {
  id: 'plain',
  write: (units, round) => textOfLines(units, (at) => `${sentence(at, round)}\n\n`),
}

/** Every pattern that is measured, besides plain text. */
export const patterns: readonly Pattern[] = [
  repeatedPattern('emphasis', '_N*'),
  repeatedPattern('strong', '**N *N '),
  repeatedPattern('emphasis-open', '*N '),
  repeatedPattern('stars', '*'),
  repeatedPattern('strike', '~~N '),
  repeatedPattern('quotes-nested', '> '),
  repeatedPattern('numbers-nested', '1. '),
  repeatedPattern('bullets-nested', '- '),
  linePattern('quote-list-mixed', (at) => `${'> - '.repeat(at % 60)}N\n`),
  linePattern('list-deep', (at) => `${'  '.repeat(at % 200)}- N\n`),
  linePattern('list', (at, round) => `- item ${at} ${round} of a long list\n`),
  linePattern('list-loose', (at, round) => `- item ${at} ${round} of a long list\n\n`),
  linePattern('list-numbered', (at, round) => `${at + 1}. item ${round} of a long list\n`),
  linePattern('quote', (at, round) => `> line ${at} ${round} of a long quote\n`),
  repeatedPattern('brackets', '['),
  repeatedPattern('brackets-closed', '[N]'),
  linePattern('brackets-balanced', (at) => (at === 0 ? '[' : at % 500 === 0 ? ']'.repeat(499) : '[')),
  repeatedPattern('links-nested', '[N [N](N) '),
  repeatedPattern('link-open', '[N]('),
  repeatedPattern('link-parens', '[N](('),
  linePattern('link-closed-late', (at) => (at === 0 ? '(N) ' : '[N](N ')),
  repeatedPattern('link-titles', '[N](N "'),
  linePattern('quote-list-lazy', () => '> - N\nN\n'),
  linePattern('quote-lazy', () => '> > N\nN\n'),
  linePattern('item-long', (at) => (at === 0 ? '- N\n' : 'N\n')),
  linePattern('bracket-lines', () => '[\n'),
  linePattern('definitions-open', () => '[N]: N (\n'),
  linePattern('table-short-rows', (at) => (at === 0 ? `${'|N'.repeat(800)}\n${'|-'.repeat(800)}\n` : '|\n')),
  repeatedPattern('backtick-at', '`N @ '),
  repeatedPattern('images-nested', '![['),
  linePattern('backticks', (at) => `${'`'.repeat(1 + (at % 300))}N `),
  repeatedPattern('backtick-open', '`N ``N '),
  repeatedPattern('html', '<N '),
  repeatedPattern('html-attributes', '<N b="'),
  repeatedPattern('html-comments', '<!-- <? <![CDATA[ '),
  repeatedPattern('entities', '&amp;&#x41;&N'),
  repeatedPattern('addresses', 'http://N.www.N@N.'),
  repeatedPattern('mail', 'N.N-N_'),
  repeatedPattern('mentions', '@N <@N> <!here> '),
  linePattern('table', (at, round) => (at === 0 ? '| a | b |\n| --- | --- |\n' : `| cell ${at} | ${round} |\n`)),
  linePattern('table-wide-cell', (at) => (at === 0 ? `|${'N'.repeat(900)}|\n|-|\n` : '|N|\n')),
  linePattern('table-rule-long', (at) => (at === 0 ? '| N | N |\n' : ':-')),
  linePattern('list-marked', () => '- **N** text _x_ `y`\n'),
  linePattern('list-loose-nested', () => '- N\n\n  - N\n\n'),
  linePattern('headings', () => '# N\n'),
  linePattern('setext', () => 'N\n-\n'),
  linePattern('table-wide', (at) => `${(at === 1 ? '| - ' : '| N ').repeat(400)}|\n`),
  repeatedPattern('bars', '|N'),
  linePattern('definitions', (at, round) => `[N${at}]: http://n${round} "x"\n[N${at}] `),
  linePattern('fences', (at) => `${'`'.repeat(3 + (at % 3))}N\n`),
  linePattern('code', (at, round) => (at === 0 ? '```ts\n' : `const n${at} = ${round}\n`)),
  repeatedPattern('backslashes', '\\'),
  repeatedPattern('spaces', ' '),
  linePattern('blank-lines', (at) => (at % 100 === 0 ? 'N\n' : '\n')),
  repeatedPattern('tabs', 'N\t\n'),
  repeatedPattern('long-line', 'word N and '),
  repeatedPattern('one-word', 'N'),
  repeatedPattern('one-paragraph', 'a line of N words\n'),
  repeatedPattern('combining', 'e\u0301\u0302\u0303'),
  repeatedPattern('joined-emoji', '\u{1f469}\u200d'),
]

/** The pattern of a text that repeats itself. Each N becomes the round's letter. */
function repeatedPattern(id: string, unit: string): Pattern {
  return linePattern(id, () => unit)
}

/**
 * The pattern of a text with these lines. Each N becomes the round's letter. The text ends with the letter and the
 * round.
 */
function linePattern(id: string, line: (at: number, round: number) => string): Pattern {
  return {
    id,
    write(units, round) {
      const letter = letters.charAt(round)
      if (letter === '') {
        throw new RangeError(`Round ${round} of ${id} has no letter left: there are only ${letters.length}.`)
      }
      return `${textOfLines(units - 8, (at) => line(at, round).replaceAll('N', letter))} ${letter}${round}`
    },
  }
}

/** Returns the lines from 0 on, cut to exactly `units` UTF-16 units. */
function textOfLines(units: number, line: (at: number) => string): string {
  const parts: string[] = []
  let length = 0
  for (let at = 0; length < units; at++) {
    const text = line(at)
    parts.push(text)
    length += text.length
  }
  return parts.join('').slice(0, units)
}

/** A sentence that names its place and its round, three times. */
function sentence(index: number, round: number): string {
  return `Sentence ${index} of round ${round} says what was found, and where it was found, in words that mean nothing at all. `.repeat(
    3,
  )
}
