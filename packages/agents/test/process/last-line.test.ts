import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import type { ReplyError } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claude } from '../../src/claude.ts'
import { codex } from '../../src/codex.ts'
import { startProcess } from '../../src/command.ts'
import { createLastLine, startJsonProgram } from '../../src/process/json-program.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-last-line-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The last line of a text that came in pieces of this length. */
function lastOf(text: string, { env = {}, length = text.length }: { env?: Record<string, string>; length?: number }) {
  const line = createLastLine({ env })
  for (let at = 0; at < text.length; at += length) line.push(text.slice(at, at + length))
  return line.end()
}

describe('what stderr says last', () => {
  test.each([
    ['a token', 'key sk-ant-abcdefghijklmnop refused', {}, 'key [redacted] refused'],
    ['a coloured token', '\u001b[31msk-ant-abcdefghijklmnop\u001b[0m refused', {}, '[redacted] refused'],
    ['a password by its name', 'password=hunter22 is wrong', {}, 'password=[redacted] is wrong'],
    [
      'the value of a secret variable',
      'Tried (open+sesame) twice.',
      { DOOR_KEY: '(open+sesame)' },
      'Tried [redacted] twice.',
    ],
    [
      'the longer of two values',
      'Tried sesame-street.',
      { A_TOKEN: 'sesame', B_TOKEN: 'sesame-street' },
      'Tried [redacted].',
    ],
    [
      'the whole of two values that overlap',
      'Tried abcdefghijklmnop.',
      { A_TOKEN: 'abcdefgh', B_TOKEN: 'efghijklmnop' },
      'Tried [redacted].',
    ],
    ['a value of one character', `Tried ${'x'.repeat(40_000)}.`, { A_TOKEN: 'x'.repeat(40_000) }, 'Tried [redacted].'],
    [
      'a value within the start of another',
      'It was xab, abz.',
      { A_PASS: 'xxab', B_PASS: 'xab,', C_PASS: 'ab, abcd' },
      'It was [redacted] abz.',
    ],
    [
      'a line of a value',
      'first\nTried second line.',
      { PEM_SECRET: 'first line\nsecond line\n' },
      'Tried [redacted].',
    ],
  ])('has %s redacted, wherever it was split', (_, text, env, expected) => {
    for (const length of [1, 2, 3, 5, 7, 11, text.length]) expect(lastOf(text, { env, length })).toBe(expected)
  })

  test('keeps the values of other variables, and short ones', () => {
    const env = { EDITOR: 'emacs', PWD: '/project', USES_TOKEN: '1', HAS_TOKEN: 'true', NO_TOKEN: 'null' }
    const said = 'emacs of /project ended with code 1: true is not null'
    expect(lastOf(said, { env })).toBe(said)
  })

  test('is cut after it was redacted, so that a cut leaves no end of a secret', () => {
    const said = lastOf(`password=${'x'.repeat(20_000)} is wrong`, { length: 100 })
    expect(said).toBe('password=[redacted] is wrong')
    expect(lastOf('z'.repeat(5000), {})).toHaveLength(2000)
  })

  test.each([
    [
      'Node.js',
      'node:internal\n  throw err;\n  ^\n\nError: Cannot find module\n    at load (a.js:1:2)\n\nNode.js v22.1.0\n',
      'Error: Cannot find module',
    ],
    [
      'Rust',
      'Error: invalid type: boolean\nin `tools`\n\nStack backtrace:\n   0: <unknown>\n',
      'Error: invalid type: boolean',
    ],
    ['a log without an error', 'Begun.\nErrors are logged.\nStopped.\n\n', 'Stopped.'],
  ])('is the error in front of a stack: %s', (_, text, expected) => expect(lastOf(text, {})).toBe(expected))

  test('is empty if there is none', () => expect(lastOf('', {})).toBe(''))
})

/** A program that says a secret, and dies. */
function dying(name: string): string {
  const file = join(folder, name)
  writeFileSync(file, '#!/bin/sh\necho "Refused: $DOOR_KEY" >&2\nexit 3\n', { mode: 0o755 })
  return file
}

test.each([
  ['claude', claude],
  ['codex', codex],
])('%s tells why its program died before it read a prompt, without its secrets', async (name, source) => {
  const env = { DOOR_KEY: 'open-sesame' }
  const agent = connectSource(source({ command: dying(name), env, graceMs: 200 }), { onError: () => {} })
  const said = await agent.prompt({ text: 'Go.' }).result.then(
    ({ error }) => error?.message,
    (error: ReplyError) => error.message,
  )
  await agent.close()
  expect(said).toMatch(/code 3[.:] Refused: \[redacted\]$/)
})

test.each([
  ['claude', claude],
  ['codex', codex],
])('%s tells no secret of its arguments when its program quotes them', async (_, source) => {
  const command = join(folder, 'quoting')
  writeFileSync(command, '#!/bin/sh\necho "Unknown: $*" >&2\nexit 3\n', { mode: 0o755 })
  const args = ['--api-key', 'open-sesame', '--token=closed-sesame', '-c', 'provider.api_key="third-sesame"']
  const agent = connectSource(source({ command, args, graceMs: 200 }), { onError: () => {} })
  const said = await agent.prompt({ text: 'Go.' }).result.then(
    ({ error }) => error?.message,
    (error: ReplyError) => error.message,
  )
  await agent.close()
  expect(said).toContain('--api-key [redacted]')
  expect(said).not.toContain('sesame')
})

test('a program that could not be started keeps no arguments in its error', async () => {
  const failure: unknown = await startProcess({ command: 'no-such-program', args: ['--token', 'open-sesame'] }).catch(
    (error: unknown) => error,
  )
  expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain('sesame')
  expect(failure).toMatchObject({ type: 'unreachable', cause: { code: 'ENOENT' } })
})

test('a line that could not be used is reported without its content', async () => {
  const file = join(folder, 'one-line')
  writeFileSync(file, `#!/bin/sh\necho '{"token":"sk-secret-123"}'\n`, { mode: 0o755 })
  const errors: ReplyError[] = []
  await new Promise<void>((resolve, reject) => {
    startJsonProgram({
      command: file,
      onMessage: (_, line) => {
        throw new TypeError(`No reader for ${line}`)
      },
      onError: (error) => errors.push(error),
      onEnd: () => resolve(),
    }).catch(reject)
  })
  expect(errors).toMatchObject([{ type: 'malformed', message: expect.stringContaining('TypeError') }])
  expect(errors[0]?.cause).toBeUndefined()
  expect(errors[0]?.message).not.toContain('secret')
})
