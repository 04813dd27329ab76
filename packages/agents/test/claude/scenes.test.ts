import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Reply, textOf, toolsOf } from '@reply/core'
import { changesOf } from '@reply/core/show'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { playRecorded } from './recorded-scene.ts'
import { picture, sentFiles } from './scenes.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-scenes-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Plays a scene on the recorded Claude Code, without an error. */
async function played(version: string, name: string) {
  const { replies, received, errors } = await playRecorded(folder, version, name)
  expect(errors).toEqual([])
  return { reply: replies[0] ?? expect.fail(`There is no scene ${name}.`), received }
}

const outputsOf = (reply: Reply) => toolsOf(reply).map(({ tool, state }) => [tool, state.output])

describe.each(['2.1.197', '2.1.332'])('Claude Code %s', (version) => {
  test('gets the files of a prompt: pictures, texts and PDFs', async () => {
    const { reply, received } = await played(version, 'files')
    const [photo, notes, paper] = sentFiles.map(({ url }) => url.split(',')[1] ?? '')
    expect(received.prompts[0]).toEqual([
      { type: 'text', text: '[scenario:files] Look at these.' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: photo } },
      {
        type: 'document',
        title: 'notes.ts',
        source: { type: 'text', media_type: 'text/plain', data: Buffer.from(notes ?? '', 'base64').toString() },
      },
      {
        type: 'document',
        title: 'paper.pdf',
        source: { type: 'base64', media_type: 'application/pdf', data: paper },
      },
    ])
    expect(reply.prompt?.files).toEqual(['photo.png', 'notes.ts', 'paper.pdf'])
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'I see them.'])
  })

  test('a picture that it reads is named in the output, and attached to the call', async () => {
    const { reply } = await played(version, 'picture')
    expect(outputsOf(reply)).toEqual([['read', '[image/png, 79 B]']])
    const url = `data:image/png;base64,${picture.toString('base64')}`
    expect(toolsOf(reply)[0]?.state.attachments).toMatchObject([{ mime: 'image/png', url, size: 79 }])
  })

  test('a form of an MCP server is a list of questions, and the server gets the answers by their types', async () => {
    const { reply } = await played(version, 'form')
    expect(reply.asks[1]).toMatchObject({
      type: 'question',
      status: 'answered',
      callID: 'call_0001',
      questions: [
        { header: 'Color', question: 'forms asks: What do you order?\n\nColor', custom: false },
        { header: 'Count', question: 'How many?', custom: true },
        { header: 'Wrapped', options: [{ label: 'Yes' }, { label: 'No' }] },
      ],
    })
    const content = { color: 'red', count: 2, wrapped: true }
    expect(outputsOf(reply)).toEqual([['mcp__forms__form', JSON.stringify({ action: 'accept', content })]])
  })

  test('a rejected form is declined, and the form of an aborted run is withdrawn', async () => {
    const declined = await played(version, 'form-declined')
    expect(declined.received.responses.at(-1)).toEqual({ action: 'decline' })
    expect(outputsOf(declined.reply)).toEqual([['mcp__forms__form', '{"action":"decline"}']])
    const { reply, received } = await played(version, 'form-aborted')
    expect(received.responses.at(-1)).toEqual({ action: 'cancel' })
    expect([reply.outcome, reply.asks[1]?.status]).toEqual(['aborted', 'rejected'])
  })

  test('a compaction that failed is over, and its reason is shown', async () => {
    const { reply } = await played(version, 'compaction-failed')
    const [notice] = toolsOf(reply)
    expect([reply.compaction, notice?.tool, notice?.state.title]).toEqual([
      undefined,
      'notice',
      expect.stringMatching(
        /^The conversation was not compacted: (Not enough messages|Error during compaction: API Error)/,
      ),
    ])
  })
})

test('an address that an MCP server wants to be visited is a question', async () => {
  const { reply, received } = await played('2.1.332', 'link')
  expect(reply.asks[1]).toMatchObject({
    questions: [{ header: 'forms', question: 'forms asks: Log in first.\n\n<https://example.com/login>' }],
  })
  expect(received.responses.at(-1)).toEqual({ action: 'accept' })
})

test('what a hook says to people is a line of its own, and no part of the answer', async () => {
  const { reply } = await played('2.1.332', 'notices')
  expect(toolsOf(reply).map(({ tool, state }) => [tool, state.title])).toEqual([
    ['notice', 'UserPromptSubmit says: Welcome.'],
    ['notice', 'Stop says: Goodbye.'],
  ])
  expect(textOf(reply)).toBe('Hello there, nice to meet you.')
})

test.each(['2.1.197', '2.1.332'])(
  'the edits of Claude Code %s tell the changed lines, except of a notebook',
  async (version) => {
    const { reply } = await played(version, 'edits')
    const changes = changesOf({ ...reply, directory: '/project' })
    expect(changes.map(({ path, kind, additions, deletions }) => [path, kind, additions, deletions])).toEqual([
      // A line that was changed twice counts twice.
      ['list.txt', 'modified', 3, 2],
      ['src/new.txt', 'added', 1, 0],
      ['book.ipynb', 'modified', undefined, undefined],
    ])
    expect(changes[0]?.patches).toEqual([
      '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n',
      '@@ -1,3 +1,3 @@\n one\n-2\n+zwei\n three\n',
      '@@ -1,3 +1,4 @@\n one\n zwei\n three\n+four\n',
    ])
  },
)
