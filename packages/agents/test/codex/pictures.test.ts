import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { partsOf, type Reply, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeItem } from '../../src/codex/decode/item.ts'
import { codex } from '../../src/codex.ts'
import { recordingOf } from '../replay.ts'
import { codexVersions } from './codex-stage.ts'
import { type ReplayedLine, writeProgram } from './replay-program.ts'
import { dot } from './scenes.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-codex-pictures-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function played(name: string, lines: readonly ReplayedLine[]) {
  const command = join(folder, name.replace('/', '-'))
  writeProgram(command, lines)
  const errors: string[] = []
  const client = connectSource(codex({ command, graceMs: 200, onError: ({ message }) => errors.push(message) }))
  const reply = await client.prompt(
    { text: 'Go.' },
    { observe: () => [{ permissionAsked: ({ ask }) => void client.answer(ask, 'once') }] },
  ).result
  await client.close()
  return { reply, errors }
}

/** The parts of a reply, in order: the texts, and the tools, each with the types of its files. */
const outlineOf = (reply: Reply) =>
  partsOf(reply).flatMap((part) => {
    if (part.type === 'tool')
      return [part.tool, ...(part.state.attachments ?? []).map(({ mime, url }) => `${mime} ${url.slice(0, 22)}`)]
    return part.type === 'text' ? [part.text] : []
  })
const file = 'image/png data:image/png;base64,'

describe.each(codexVersions)('Codex %s', (version) => {
  test("pictures of an MCP tool's result are attached to the call, and its text is the output", async () => {
    const { reply } = await played(`${version}/mcp`, recordingOf('codex', `${version}/mcp`))
    expect(outlineOf(reply)).toEqual(['pictures_draw', file, 'pictures_draw', file, 'They are drawn.'])
    expect(toolsOf(reply).map(({ state }) => state.output)).toEqual([
      'Drawn: a house.\n[image/png, 70 B]',
      'Drawn: a tree.\n[image/png, 70 B]',
    ])
  })

  test('a picture that the model looks at is attached to the call', async () => {
    const { reply, errors } = await played(`${version}/view`, recordingOf('codex', `${version}/view`))
    expect(outlineOf(reply)).toEqual(['view_image', file, 'A dot.'])
    expect(toolsOf(reply)).toMatchObject([{ state: { status: 'completed', input: { path: '/project/dot.png' } } }])
    expect(errors).toEqual([])
  })

  test.each([
    ['that is gone', { error: { message: 'No such file.' } }, ['No such file.']],
    ['that is a text', { result: { dataBase64: Buffer.from('SECRET=1').toString('base64') } }, []],
    ['whose response is malformed', { result: {} }, ['the response is malformed']],
  ] as const)('a picture %s is not shown, and the turn goes on', async (name, response, problems) => {
    const lines = recordingOf('codex', `${version}/view`)
    const request = lines.find(({ line }) => line.method === 'fs/readFile')
    const changed = lines.map((each) =>
      each.from === 'codex' && each.line.id === request?.line.id && !each.line.method
        ? { from: 'codex', line: { id: each.line.id, ...response } }
        : each,
    )
    const { reply, errors } = await played(`${version}/view ${name}`, changed)
    expect([reply.outcome, outlineOf(reply)]).toEqual(['completed', ['view_image', 'A dot.']])
    expect(errors).toEqual(problems.map((problem) => expect.stringContaining(problem)))
  })
})

// The model's own pictures need a login, so they are not recorded. Their shapes are those of
// `codex app-server generate-ts` 0.150.0 and 0.169.0.
const generation = { type: 'imageGeneration', id: 'i', status: 'completed', revisedPrompt: 'A dot.', failure: null }
const url = `data:image/png;base64,${dot}`

test.each([
  ['with its content', { result: dot }, { files: [{ url, mime: 'image/png' }], picturePath: undefined }],
  ['at a path', { result: '', savedPath: '/a.png' }, { files: [], picturePath: '/a.png' }],
  ['in OpenAI', { fileId: 'file_1' }, { files: [], picturePath: undefined }],
])('a picture that the model made is a file: %s', (_, more, expected) => {
  const state = { status: 'completed', input: { prompt: 'A dot.' } }
  expect(decodeItem({ ...generation, ...more }, true)).toMatchObject({ tool: 'image_generation', state, ...expected })
})

test('a picture that was not made is an error of its call', () => {
  const failed = {
    ...generation,
    status: 'failed',
    result: '',
    savedPath: '/a.png',
    failure: { type: 'usageLimitExceeded' },
  }
  expect(decodeItem(failed, true)).toMatchObject({
    state: { status: 'error', error: 'No picture was made: usageLimitExceeded.' },
    picturePath: undefined,
  })
})

test("pictures of another client's tool may be addresses, and the tool may have a namespace", () => {
  const call = {
    type: 'dynamicToolCall',
    id: 'c',
    namespace: 'cam',
    tool: 'shoot',
    status: 'completed',
    arguments: { zoom: 2 },
  }
  const contentItems = [
    { type: 'inputText', text: 'Shot.' },
    { type: 'inputImage', imageUrl: url },
    { type: 'inputImage', imageUrl: 'https://example.com/a.png' },
    { type: 'new' },
  ]
  expect(decodeItem({ ...call, contentItems }, true)).toMatchObject({
    tool: 'cam_shoot',
    state: {
      status: 'completed',
      input: { arguments: { zoom: 2 } },
      output: 'Shot.\n[image/png, 70 B]\n[https://example.com/a.png]',
    },
    files: [
      { url, mime: 'image/png' },
      { url: 'https://example.com/a.png', mime: 'application/octet-stream' },
    ],
  })
})

test("the other contents of an MCP tool's result are not lost", () => {
  const call = { type: 'mcpToolCall', id: 'c', server: 's', tool: 't', status: 'completed', arguments: null }
  const content = [
    { type: 'resource', resource: { uri: 'file:///a.txt', text: 'The text.' } },
    { type: 'resource', resource: { uri: 'file:///b/a.pdf', blob: 'JVBERi0=', mimeType: 'application/pdf' } },
    { type: 'resource_link', uri: 'https://example.com' },
    { type: 'resource_link', uri: 'file:///b/all.zip', name: 'all.zip', description: 'All', size: 3 },
    { type: 'new' },
  ]
  expect(decodeItem({ ...call, result: { content } }, true)).toMatchObject({
    state: { output: 'The text.\n[application/pdf, 5 B]\n[https://example.com]\n[file:///b/all.zip]' },
    files: [
      { url: 'data:application/pdf;base64,JVBERi0=', mime: 'application/pdf', filename: 'a.pdf' },
      // Only files of the computer are files, and other links are texts.
      { url: 'file:///b/all.zip', mime: 'application/octet-stream', filename: 'all.zip', size: 3, caption: 'All' },
    ],
  })
  const structured = { content: [], structuredContent: { sum: 3 } }
  expect(decodeItem({ ...call, result: structured }, true)).toMatchObject({ state: { output: '{"sum":3}' } })
})
