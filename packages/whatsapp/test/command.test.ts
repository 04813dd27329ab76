import { texts } from '@reply/sink'
import { emptyLedger, layout } from '@reply/sink/internal'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { permits, replyWith, viewOf } from '../../sink/test/make.ts'
import { baileysLimits, renderWhatsApp } from '../src/internal.ts'

/** Invisible characters, which are copied along. */
const joiner = '\u2060'

/** The text sent for a permission to run that command. */
function sentFor(command: string): string {
  const ask = permits({ call: { tool: 'bash', input: { command } }, patterns: [], always: [], title: 'bash' })
  const ledger = { ...emptyLedger, asks: { per_1: { secret: 's', answers: [], picked: [] } } }
  const { cards } = viewOf(replyWith([], { phase: 'blocked', asks: [ask] }), { ledger })
  const slots = layout(cards, { render: renderWhatsApp, limits: baileysLimits, mode: 'live', texts, ledger })
  return slots.map(({ bubble }) => bubble.text).join('\n')
}

const marks = [
  '*',
  '_',
  '~',
  '>',
  '-',
  '#',
  '|',
  '<',
  '&',
  '@',
  '[',
  ']',
  '(',
  ')',
  '\\',
  '1.',
  ' ',
  '\n',
  '\t',
  'a',
  'é',
]
const commands = (units: readonly string[]) =>
  fc.array(fc.constantFrom(...units), { minLength: 1, maxLength: 40 }).map((parts) => `x${parts.join('')}x`)

test('a command is sent unchanged, so that a copy of it is the command', () => {
  fc.assert(
    fc.property(commands([...marks, '`', '``']), (command) => {
      fc.pre(!command.includes('```'))
      expect(sentFor(command)).toContain(command)
    }),
    { numRuns: 200 },
  )
})

test('invisible characters only separate three backticks in a row, which WhatsApp would read as the end of code', () => {
  fc.assert(
    fc.property(commands([...marks, '```']), (command) => {
      const sent = sentFor(command)
      expect(sent.replaceAll(joiner, '')).toContain(command)
      expect(sent.split('```')).toHaveLength(sentFor('xx').split('```').length)
    }),
    { numRuns: 200 },
  )
})
