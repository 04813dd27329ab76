import { renderDiscord } from '@reply/discord/internal'
import type { Render } from '@reply/sink/channel'
import { renderSlack } from '@reply/slack/internal'
import { renderHtml, renderRich } from '@reply/telegram/internal'
import { hostileTexts } from '@reply/testing/internal'
import { renderWhatsApp } from '@reply/whatsapp/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { markdown } from '../../console/src/format/markdown.ts'
import { ansi } from '../../console/src/format/styled-line.ts'
import { closeMarkdown } from '../../sink/src/markdown/close-markdown.ts'
import { split } from '../../sink/src/markdown/split.ts'
import {
  inDiscord,
  inSlackMarkdown,
  inTelegramHtml,
  inTelegramRich,
  inTerminal,
  inWhatsApp,
  type Sight,
  wrongs,
} from './hostile/sight.ts'

/** A render, and what reads its text. */
const dialects: Readonly<Record<string, readonly [Render, (text: string) => Sight]>> = {
  "Telegram's rich messages": [renderRich, inTelegramRich],
  "Telegram's HTML": [renderHtml, inTelegramHtml],
  Slack: [renderSlack, inSlackMarkdown],
  Discord: [renderDiscord, inDiscord],
  WhatsApp: [renderWhatsApp, inWhatsApp],
}

const marks = [
  ...[
    '**',
    '*',
    '_',
    '~~',
    '`',
    '``',
    '```',
    '```html\n',
    '\n',
    '\n\n',
    '> ',
    '- ',
    '  - ',
    '1. ',
    '# ',
    '---\n',
    '    ',
  ],
  ...[
    '[',
    '](',
    ')',
    '![',
    '][',
    ']: ',
    '|',
    '|---|---|\n',
    '| a | b |\n',
    '\\',
    '<',
    '>',
    '</',
    '/>',
    '"',
    "'",
    '&',
    ';',
    '&#',
    '@',
  ],
  ...[
    'tg',
    ':',
    '//',
    'https://',
    'javascript:',
    'slack:',
    'www.',
    'bank.example',
    'evil.example',
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
  ],
  ...[
    'img src=',
    'a href=',
    'tg-button',
    '||',
    '==',
    '$',
    '!',
    '#',
    'word',
    ' ',
    '\u2060',
    '\u200b',
    '\u001b',
    '\u009b',
    '\u202e',
    '\u0007',
  ],
] as const

/** Hostile texts, pieces of them and marks of Markdown and HTML, in any order. */
const mixtures = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...marks) },
      { weight: 2, arbitrary: fc.constantFrom(...Object.values(hostileTexts)) },
      {
        weight: 2,
        arbitrary: fc
          .tuple(fc.constantFrom(...Object.values(hostileTexts)), fc.nat(80), fc.nat(80))
          .map(([text, from, length]) => text.slice(from, from + length)),
      },
      { weight: 1, arbitrary: fc.string({ maxLength: 4 }) },
    ),
    { maxLength: 24 },
  )
  .map((parts) => parts.join(''))

describe.each(Object.entries(dialects))('%s: any mixture', (_, [render, read]) => {
  test('acts nowhere', () => {
    fc.assert(
      fc.property(mixtures, (source) => {
        expect(wrongs(read(render(source).text))).toEqual([])
      }),
      { numRuns: 3000 },
    )
  })

  test('acts in none of the messages that it is cut into, nor while it is written', () => {
    fc.assert(
      fc.property(mixtures, fc.constantFrom(24, 60, 200), fc.nat(400), (source, maxLength, written) => {
        const slices = split(source, { maxLength, measure: (text) => render(text).length })
        for (const slice of slices) expect(wrongs(read(render(slice.source).text))).toEqual([])
        expect(wrongs(read(render(closeMarkdown(source.slice(0, written))).text))).toEqual([])
      }),
      { numRuns: 500 },
    )
  })
})

test('a terminal only gets colours from any mixture', async () => {
  await fc.assert(
    fc.asyncProperty(mixtures, async (source) => {
      const rows = markdown(source, 60).map(ansi)
      expect(wrongs(await inTerminal(rows.join('\n')))).toEqual([])
    }),
    { numRuns: 300 },
  )
})
