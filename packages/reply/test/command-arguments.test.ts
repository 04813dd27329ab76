import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expandCommand, mayActWithoutAsking } from '../src/source/command-arguments.ts'

const review = { name: 'review', template: 'Review this: $ARGUMENTS' }

test('words alone run nothing', () => {
  expect(mayActWithoutAsking(review, 'the cart, and mail ann@example.com')).toBe(false)
  expect(mayActWithoutAsking(review, '')).toBe(false)
})

test('a shell command or a file in the arguments does', () => {
  for (const args of [
    '!`touch x`',
    'see @/etc/hostname',
    '@src/a.ts',
    '@~/.ssh/id_rsa',
    '(@..)',
    '@general',
    'at @ noon',
  ])
    expect(mayActWithoutAsking(review, args)).toBe(true)
  for (const args of ['the function `main`', 'hurry!', 'ann@example.com'])
    expect(mayActWithoutAsking(review, args)).toBe(false)
})

test.each([
  ['Read !`git log $1`', 'main', true],
  ['Read !`git log` for $1', 'main', false],
  ['Look at @$1', '/etc/hostname', true],
  ['Look at @src/$1', '../../etc/hostname', true],
  ['Look at @README.md for $1', 'spelling', false],
  // The argument makes a shell command of the template's own backquotes.
  ['Compare `$1`touch x` with $2', 'a! b', true],
  ['Compare `$1` with $2', '"!` a" "touch x`"', true],
  ['Say !$1', '`touch x`', true],
  ['Say !$1`touch x` $2', '"" b', true],
  ['Say $1', '"!`touch" "x`"', true],
  // Its file is another one without the second argument.
  ['Read @src/$2 $1', 'all', true],
  ['Read $1@README.md', '""', true],
  // An output may end with the sign, or separate it from the word before.
  ['!`git log`$1', 'secret.txt', true],
  ['!`git log`$1', '@secret.txt', true],
  ['!`git log` $1', 'words', false],
  ['$1!`git log`', '"see @"', true],
  ['Say $1', '$ARGUMENTS', true],
  ['Say $1', "$ARGUMENTS $'", true],
  ['Look: $1', '"a `b" "c` d"', false],
  // Arguments without a place follow the template.
  ['Look at @', 'README.md', false],
  ['Say !', '`touch x`', false],
  ['Say', '!`touch x`', true],
] as const)('%j with %j: %s', (template, args, isUnasked) => {
  expect(mayActWithoutAsking({ name: 'any', template }, args)).toBe(isUnasked)
})

test('arguments that name all arguments don’t grow with their square', () => {
  expect(mayActWithoutAsking({ name: 'any', template: '$1' }, `"${'$ARGUMENTS'.repeat(20_000)}"`)).toBe(true)
})

test('of a command whose template is not known, all arguments count', () => {
  expect(mayActWithoutAsking({ name: 'review' }, 'the cart')).toBe(true)
  expect(mayActWithoutAsking({ name: 'review' }, ' ')).toBe(true)
  expect(mayActWithoutAsking({ name: 'review' }, '')).toBe(false)
})

test.each([
  ['1: $1, 2: $2.', 'a "b c" d', '1: a, 2: b c d.'],
  ['$2 $1', 'a b c', 'b c a'],
  ['$1 $3', 'a', 'a '],
  ['All: $ARGUMENTS', ' a  "b c"', 'All:  a  "b c"'],
  ['$1 $ARGUMENTS', '$ARGUMENTS', '$ARGUMENTS $ARGUMENTS'],
  ['No place', 'a $$', 'No place\n\na $$'],
  ['Price: $ARGUMENTS', '$$5', 'Price: $5'],
  ['$0 $1', 'a', 'undefined a'],
  ['$1', 'it\'s "[Image 1] x"', 'it s [Image 1] x'],
] as const)('%j with %j becomes %j', (template, args, text) => {
  expect(expandCommand(template, args).text).toBe(text)
})

const pieces = fc.constantFrom('!', '`', '@', '$1', '$2', '$ARGUMENTS', ' ', 'a', '.', ',', '/', '"', "'", '\n')
const written = fc.array(pieces, { maxLength: 12 }).map((all) => all.join(''))

test('what a person could not write into the template does not act, whatever an own shell command prints', () => {
  const outputs = ['', ' ', 'a', '@', ' @a', 'a\n']
  fc.assert(
    fc.property(written, written, (template, args) => {
      if (args === '' || mayActWithoutAsking({ name: 'any', template }, args)) return
      const { text } = expandCommand(template, args)
      const own = [...template.matchAll(/!`[^`]+`/g)].map(String)
      for (const [found] of text.matchAll(/!`([^`]+)`/g)) expect(own).toContain(found)
      for (const output of outputs) {
        const before = template.replaceAll(/!`[^`]+`/g, () => output)
        for (const [found] of text.replaceAll(/!`[^`]+`/g, () => output).matchAll(/(?<![\w`])@[^\s`,]*/g))
          expect(before).toContain(found)
      }
    }),
    { numRuns: 2000 },
  )
})
