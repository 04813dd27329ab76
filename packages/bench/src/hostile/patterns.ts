/** A text that a model could write and that costs a reader of Markdown more than its length. */
export interface Pattern {
  readonly id: string
  /** The text, of at least `units` UTF-16 units. Each `round` below `roundCount` gives a different text, so that no cache has seen it. */
  write(units: number, round: number): string
}

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** How many different texts each pattern has. */
export const roundCount = letters.length

/** The text that every pattern is compared with: paragraphs without any markup. */
export const plainText: Pattern = {
  id: 'plain',
  write: (units, round) => written(units, (at) => `${sentence(at, round)}\n\n`),
}

export const patterns: readonly Pattern[] = [
  repeated('emphasis', '_N*'),
  repeated('strong', '**N *N '),
  repeated('emphasis-open', '*N '),
  repeated('stars', '*'),
  repeated('strike', '~~N '),
  repeated('quotes-nested', '> '),
  repeated('numbers-nested', '1. '),
  repeated('bullets-nested', '- '),
  lines('quote-list-mixed', (at) => `${'> - '.repeat(at % 60)}N\n`),
  lines('list-deep', (at) => `${'  '.repeat(at % 200)}- N\n`),
  lines('list', (at, round) => `- item ${at} ${round} of a long list\n`),
  lines('list-loose', (at, round) => `- item ${at} ${round} of a long list\n\n`),
  lines('list-numbered', (at, round) => `${at + 1}. item ${round} of a long list\n`),
  lines('quote', (at, round) => `> line ${at} ${round} of a long quote\n`),
  repeated('brackets', '['),
  repeated('brackets-closed', '[N]'),
  lines('brackets-balanced', (at) => (at === 0 ? '[' : at % 500 === 0 ? ']'.repeat(499) : '[')),
  repeated('links-nested', '[N [N](N) '),
  repeated('link-open', '[N]('),
  repeated('link-parens', '[N](('),
  lines('link-closed-late', (at) => (at === 0 ? '(N) ' : '[N](N ')),
  repeated('link-titles', '[N](N "'),
  lines('quote-list-lazy', () => '> - N\nN\n'),
  lines('quote-lazy', () => '> > N\nN\n'),
  lines('item-long', (at) => (at === 0 ? '- N\n' : 'N\n')),
  lines('bracket-lines', () => '[\n'),
  lines('definitions-open', () => '[N]: N (\n'),
  lines('table-short-rows', (at) => (at === 0 ? `${'|N'.repeat(800)}\n${'|-'.repeat(800)}\n` : '|\n')),
  repeated('backtick-at', '`N @ '),
  repeated('images-nested', '![['),
  lines('backticks', (at) => `${'`'.repeat(1 + (at % 300))}N `),
  repeated('backtick-open', '`N ``N '),
  repeated('html', '<N '),
  repeated('html-attributes', '<N b="'),
  repeated('html-comments', '<!-- <? <![CDATA[ '),
  repeated('entities', '&amp;&#x41;&N'),
  repeated('addresses', 'http://N.www.N@N.'),
  repeated('mail', 'N.N-N_'),
  repeated('mentions', '@N <@N> <!here> '),
  lines('table', (at, round) => (at === 0 ? '| a | b |\n| --- | --- |\n' : `| cell ${at} | ${round} |\n`)),
  lines('table-wide-cell', (at) => (at === 0 ? `|${'N'.repeat(900)}|\n|-|\n` : '|N|\n')),
  lines('table-rule-long', (at) => (at === 0 ? '| N | N |\n' : ':-')),
  lines('list-marked', () => '- **N** text _x_ `y`\n'),
  lines('list-loose-nested', () => '- N\n\n  - N\n\n'),
  lines('headings', () => '# N\n'),
  lines('setext', () => 'N\n-\n'),
  lines('table-wide', (at) => `${(at === 1 ? '| - ' : '| N ').repeat(400)}|\n`),
  repeated('bars', '|N'),
  lines('definitions', (at, round) => `[N${at}]: http://n${round} "x"\n[N${at}] `),
  lines('fences', (at) => `${'`'.repeat(3 + (at % 3))}N\n`),
  lines('code', (at, round) => (at === 0 ? '```ts\n' : `const n${at} = ${round}\n`)),
  repeated('backslashes', '\\'),
  repeated('spaces', ' '),
  lines('blank-lines', (at) => (at % 100 === 0 ? 'N\n' : '\n')),
  repeated('tabs', 'N\t\n'),
  repeated('long-line', 'word N and '),
  repeated('one-word', 'N'),
  repeated('one-paragraph', 'a line of N words\n'),
  repeated('combining', 'e\u0301\u0302\u0303'),
  repeated('joined-emoji', '\u{1f469}\u200d'),
]

function repeated(id: string, unit: string): Pattern {
  return lines(id, () => unit)
}

function lines(id: string, line: (at: number, round: number) => string): Pattern {
  return {
    id,
    write(units, round) {
      const letter = letters.charAt(round)
      if (letter === '') {
        throw new RangeError(`Round ${round} of ${id} has no letter left: there are only ${letters.length}.`)
      }
      return `${written(units - 8, (at) => line(at, round).replaceAll('N', letter))} ${letter}${round}`
    },
  }
}

function written(units: number, line: (at: number) => string): string {
  const parts: string[] = []
  let length = 0
  for (let at = 0; length < units; at++) {
    const one = line(at)
    parts.push(one)
    length += one.length
  }
  return parts.join('').slice(0, units)
}

function sentence(at: number, round: number): string {
  return `Sentence ${at} of round ${round} says what was found, and where it was found, in words that mean nothing at all. `.repeat(
    3,
  )
}
