import { expect, test } from 'vitest'
import { picture } from './fixture/picture.ts'
import { permission, settledOf, text, tool } from './fixture/reply.ts'

test.each([
  [
    'completed',
    settledOf([text('a', 'x')], { finish: 'length' }),
    "✓ completed, cut off at the model's output limit · 12s",
  ],
  [
    'stopped',
    settledOf([text('a', 'x')], { outcome: 'stopped', asks: [permission({ status: 'rejected' })] }),
    '■ stopped: the permission was rejected · 12s',
  ],
  ['aborted', settledOf([text('a', 'x')], { outcome: 'aborted' }), '■ aborted · 12s'],
  ['timed-out', settledOf([text('a', 'x')], { outcome: 'timed-out' }), '✗ timed out after 12s'],
  ['lost', settledOf([text('a', 'x')], { outcome: 'lost' }), '✗ lost · 12s'],
])('says how it ended: %s', (_, reply, line) => {
  expect(picture(reply, { width: 120 })).toContain(line)
})

test('a failure says what to do', () => {
  const error = { name: 'APIError', message: 'Invalid key', statusCode: 401, raw: undefined }
  expect(picture(settledOf([], { outcome: 'failed', error }), { width: 200 })).toEqual([
    '✗ failed: Invalid key · 12s',
    '  The provider rejected the API key. Renew it where the agent runs (for OpenCode with "opencode auth login").',
  ])
})

test("a failure is shown without the server's stack and without its type", () => {
  const failed = (name: string, message: string) =>
    picture(settledOf([], { outcome: 'failed', error: { name, message, raw: undefined } }), { width: 200 })[0]
  const stack = 'Not found (/nope)\n    at hw (/$bunfs/root/a.js:71:4288)\n    at native:7:39'
  expect(failed('UnknownError', stack)).toBe('✗ failed: Not found (/nope) · 12s')
  expect(failed('UnknownError', stack.replace(/\n +/g, ' '))).toBe('✗ failed: Not found (/nope) · 12s')
  expect(failed('unreachable', 'No server.')).toBe('✗ failed: No server. · 12s')
  expect(failed('APIError', 'Try at 12:30:00.')).toBe('✗ failed: Try at 12:30:00. · 12s')
})

test('an unknown session is named, with what lists the known ones', () => {
  const error = { name: 'gone', message: 'http://x no longer has this: Session not found: ses_x', raw: undefined }
  expect(picture(settledOf([], { outcome: 'failed', error }), { width: 200 })).toEqual([
    '✗ failed: no session ses_x on this server · 12s',
    '  Run `opencode session list` in the project to see its sessions.',
  ])
})

test('an answer without text says so', () => {
  expect(picture(settledOf([]))).toEqual(['✓ completed · 12s', '  No answer. Try again.'])
  expect(picture(settledOf([tool('a', 'bash'), tool('b', 'bash')])).at(-1)).toBe(
    '  Done, without text: 2 tool calls ran.',
  )
})

test('a lost reply says why, and that its text is above', () => {
  const lost = { outcome: 'lost', lostReason: 'closed' } as const
  const why = '  The connection was closed. The agent may still be working.'
  expect(picture(settledOf([], lost), { width: 200 }).slice(1)).toEqual([why])
  expect(picture(settledOf([text('a', 'x')], lost), { width: 200 }).at(-1)).toBe(`${why} What arrived is above.`)
})
