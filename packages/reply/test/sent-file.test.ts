import { expect, test } from 'vitest'
import { namedIfSent, sentFile, sentFileText } from '../src/source/decode/sent-file.ts'

const address = 'file:///project/a%20b.png'
const text = sentFileText('a b.png', 'image/png', '1.2 kB')
const file = { mime: 'image/png', url: address, filename: 'a b.png' }

test.each([
  ['OpenCode 2', 'reply_send_file', `${text}\n${address}`],
  ['Claude Code 2.1.197', 'mcp__reply__send_file', `${text}\n[Resource link: a b.png] ${address} (file:///etc/passwd)`],
  ['Qwen Code', 'send_file', `${text}\nResource Link: a b.png at ${address}`],
  ['Kimi Code', 'mcp__x__send_file', `${text}[MCP content dropped. Fetch it directly if needed: ${address}]`],
])('a text of %s names the file that was sent', (_, tool, output) => {
  expect(sentFile(tool, { path: 'a b.png', caption: ' A ' }, output)).toEqual({ ...file, caption: 'A' })
  expect(sentFile(tool, { path: 'a b.png', caption: ' ' }, output)).toEqual({ ...file, caption: undefined })
})

test.each([
  ['of another tool', 'reply_read', `${text}\n${address}`],
  ['of a tool whose name only ends alike', 'resend_file', `${text}\n${address}`],
  ['of another server', 'mail_send_file', `Sent ${address}.`],
  ['with another name', 'reply_send_file', `${text}\nfile:///project/secret.png`],
  ['with a malformed address', 'reply_send_file', `${text}\nfile:///project/%ff`],
  ['without an address', 'reply_send_file', text],
  ['of a call that has not ended', 'reply_send_file', undefined],
])('a text %s names no file', (_, tool, output) => {
  expect(sentFile(tool, {}, output)).toBeUndefined()
})

test('content that `send_file` returned gets its name and caption, and content of other tools stays', () => {
  const picture = { mime: 'image/png', url: 'data:image/png;base64,AA==', filename: undefined, caption: undefined }
  const output = `${text}\n[image]`
  expect(namedIfSent([picture], 'mcp__reply__send_file', { caption: ' A ' }, output)).toEqual([
    { ...picture, filename: 'a b.png', caption: 'A' },
  ])
  for (const [files, tool, said] of [
    [[picture], 'screenshot', output],
    [[picture], 'send_file', 'Something else.'],
    [[picture], 'send_file', undefined],
    [[picture, picture], 'send_file', output],
    [[], 'send_file', output],
  ] as const)
    expect(namedIfSent(files, tool, {}, said)).toBe(files)
})
