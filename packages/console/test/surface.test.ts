import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { cursorRestOf, isLive, surfaceOf } from '../src/terminal/surface.ts'

const terminal = Object.assign(new Writable(), { isTTY: true })

test.each([
  ['a terminal', {}, true],
  ['an empty NO_COLOR', { NO_COLOR: '' }, true],
  ['NO_COLOR', { NO_COLOR: '1' }, false],
  ['CI', { CI: 'true' }, false],
  ['CI=false', { CI: 'false' }, true],
  ['a dumb terminal', { TERM: 'dumb' }, false],
])('repaints on %s: %o %s', (_, env, live) => {
  expect(isLive(terminal, env)).toBe(live)
})

test('a pipe is never repainted', () => {
  expect(isLive(new Writable(), {})).toBe(false)
})

test('the cursor rests where a resize leaves it', () => {
  expect(cursorRestOf({ TMUX: '/tmp/tmux' })).toBe('first')
  expect(cursorRestOf({ TERM: 'linux' })).toBe('first')
  expect(cursorRestOf({ TERM: 'xterm-256color', TERM_PROGRAM: 'vscode' })).toBe('last')
})

test('one stream has one surface', () => {
  const options = { live: true, env: {} }
  expect(surfaceOf(terminal, options)).toBe(surfaceOf(terminal, options))
  expect(surfaceOf(new Writable(), options)).not.toBe(surfaceOf(terminal, options))
})
