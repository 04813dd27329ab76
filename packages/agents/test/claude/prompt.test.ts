import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { promptBlocks } from '../../src/claude/prompt.ts'
import { picture } from './scenes.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-prompt-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const data = (mime: string, content: string | Uint8Array) =>
  `data:${mime};base64,${Buffer.from(content).toString('base64')}`

describe('the content blocks of a prompt', () => {
  test('are one text for its texts, and its files in order', async () => {
    const parts = [
      { type: 'text', text: 'And this.' },
      { type: 'file', url: data('image/png', picture), mime: 'image/png' },
    ] as const
    const files = [{ url: 'data:text/plain,a%20b', mime: 'text/plain' }]
    expect(await promptBlocks('claude', { text: 'Do this.', parts, files })).toEqual([
      { type: 'text', text: 'Do this.\n\nAnd this.' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture.toString('base64') } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a b' } },
    ])
  })

  test('are a picture alone, of the type that it has', async () => {
    const files = [{ url: data('image/jpeg', picture), mime: 'image/jpeg' }]
    expect(await promptBlocks('claude', { files })).toMatchObject([{ source: { media_type: 'image/png' } }])
  })

  test('are a picture by its address, and a file of this computer by its content', async () => {
    const path = join(folder, 'notes.txt')
    writeFileSync(path, 'Notes.')
    const files = [
      { url: 'https://example.com/a.png', mime: 'image/png' },
      { url: pathToFileURL(path).href, mime: 'text/plain', filename: 'notes.txt' },
    ]
    expect(await promptBlocks('claude', { files })).toEqual([
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'document', title: 'notes.txt', source: { type: 'text', media_type: 'text/plain', data: 'Notes.' } },
    ])
  })

  test.each([
    ['a sound', { url: data('audio/ogg', Buffer.from([0, 255])), mime: 'audio/ogg' }, 'a file of the type audio/ogg'],
    ['what is not UTF-8', { url: data('text/plain', Buffer.from([0xff])), mime: 'text/plain' }, 'text/plain'],
    ['what only says that it is a picture', { url: data('image/png', ''), mime: 'image/png' }, 'image/png'],
    ['an address of a text', { url: 'https://example.com/a.txt', mime: 'text/plain' }, 'by its address'],
  ])('are not made of %s', async (_, file, message) => {
    await expect(promptBlocks('claude', { files: [file] })).rejects.toMatchObject({
      type: 'unsupported',
      message: expect.stringContaining(message),
    })
  })

  test("name the file that can't be read", async () => {
    for (const url of ['file:///nowhere/at-all', 'data:text/plain,%', 'somewhere'])
      await expect(promptBlocks('claude', { files: [{ url, mime: 'text/plain', filename: 'a.txt' }] })).rejects.toThrow(
        /^The prompt's file a\.txt can't be read: /,
      )
  })

  test('lack no field of the prompt', async () => {
    await expect(promptBlocks('claude', { text: 'Hi.', system: 'Be brief.' })).rejects.toThrow('`system` for a prompt')
    const parts = [{ type: 'agent', name: 'explore' }] as const
    await expect(promptBlocks('claude', { parts })).rejects.toThrow('a part of the type agent')
  })
})
