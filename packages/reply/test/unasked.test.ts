import { expect, test } from 'vitest'
import { runsUnasked } from '../src/index.ts'

const review = { name: 'review', template: 'Review this: $ARGUMENTS' }

test('words alone run nothing', () => {
  expect(runsUnasked(review, 'the cart, and mail ann@example.com')).toBe(false)
  expect(runsUnasked(review, '')).toBe(false)
})

test('a shell command or a file in the arguments does', () => {
  for (const args of ['!`touch x`', 'see @/etc/hostname', '@src/a.ts', 'x`touch y`'])
    expect(runsUnasked(review, args)).toBe(true)
})

test('so do arguments that the template itself puts into a shell command', () => {
  expect(runsUnasked({ name: 'log', template: 'Read !`git log $1`' }, 'main')).toBe(true)
  expect(runsUnasked({ name: 'log', template: 'Read !`git log` for $1' }, 'main')).toBe(false)
})

test('of a command whose template is not known, all arguments count', () => {
  expect(runsUnasked({ name: 'review' }, 'the cart')).toBe(true)
  expect(runsUnasked({ name: 'review' }, ' ')).toBe(false)
})
