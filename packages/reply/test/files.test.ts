import { createRecordedServer, listRecordings, openCode2Version, readRecording } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { filesOf, replay, toolsOf } from '../src/index.ts'
import { attachmentID, dataSize } from '../src/source/decode/attachment.ts'
import { message, part, reduced, running, stepStart, text, tool } from './make.ts'
import { sourceAt } from './source/live-stage.ts'

const png =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const gif = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

const versions = [...new Set(listRecordings().map(({ version }) => version)), openCode2Version]

describe.each(versions)('OpenCode %s', (version) => {
  const isSecond = version === openCode2Version

  test('a picture that a tool reads is attached to its call, and reported with it', async () => {
    const attached: unknown[] = []
    const { bytes } = readRecording({ version, scenario: 'read-picture' })
    const [reply] = await replay(bytes, {
      observe: () => [{ toolProgressed: ({ part: call }) => void attached.push(...(call.state.attachments ?? [])) }],
    })
    const file = { mime: 'image/png', url: png, size: 70, filename: isSecond ? 'dot.png' : undefined }
    expect(reply && filesOf(reply)).toMatchObject([file])
    expect(attached).toEqual(reply && filesOf(reply))
  })

  test('the files of an MCP tool are attached in its order, and its texts are the output', async () => {
    const { bytes } = readRecording({ version, scenario: 'mcp-files' })
    const [reply] = await replay(bytes)
    expect(reply && filesOf(reply)).toMatchObject([
      { mime: 'image/png', url: png, size: 70, filename: undefined },
      // OpenCode 1 names it by its whole address, and OpenCode 2 not at all.
      { mime: 'image/gif', url: gif, size: 42, filename: isSecond ? undefined : 'file:///dots/dot.gif' },
    ])
    expect(reply && toolsOf(reply).map(({ state }) => state.output?.split('\n')[0])).toEqual(['Drawn.'])
  })

  test('a file has the same id on the stream and over REST', async () => {
    const { bytes } = readRecording({ version, scenario: 'mcp-files' })
    const [reply] = await replay(bytes)
    const server = createRecordedServer({ bytes, version })
    server.publish(server.length)
    const source = sourceAt('http://recorded', server.fetch)
    const place = { sessionID: reply?.sessionID ?? '', directory: reply?.directory }
    const { messages } = await source.startReading().session(place, { messageIDs: [], since: 0 })
    const calls = messages.flatMap(({ parts }) => parts.flatMap((one) => (one.type === 'tool' ? [one.state] : [])))
    const ids = reply && filesOf(reply).map(({ id }) => id)
    expect(calls.flatMap(({ attachments = [] }) => attachments.map(({ id }) => id))).toEqual(ids)
    expect(new Set(ids).size).toBe(2)
  })
})

test('files are in the order of the answer, without abandoned ones and those of a prompt', () => {
  const file = (messageID: string, id: string) =>
    part({ id, messageID, raw: 0, status: 'sealed', type: 'file', mime: 'text/plain', url: `file:///${id}` })
  const attachments = ['a', 'b'].map((url, at) => ({ id: attachmentID('call', at), mime: 'text/plain', url }))
  const events = [
    ...running,
    file('u1', 'prompted'),
    file('m1', 'first'),
    tool('m1', { status: 'completed', output: '', attachments }),
    message('m2'),
    file('m2', 'last'),
  ]
  expect(filesOf(reduced(events).reply).map(({ url }) => url)).toEqual(['file:///first', 'a', 'b', 'file:///last'])
})

test('a file keeps its id when a retry takes back what was before it', () => {
  const file = { id: 'f', messageID: 'm1', raw: 0, type: 'file', mime: 'text/plain', url: 'file:///f' } as const
  const before = [...running, stepStart('m1', 'one'), text('m1', 'Half'), part({ ...file, status: 'sealed' })]
  const [known] = filesOf(reduced(before).reply)
  expect(filesOf(reduced([...before, stepStart('m1', 'two'), text('m1', 'Whole', { id: 'm1.w' })]).reply)).toEqual([
    known,
  ])
  expect(filesOf(reduced([...before, part({ ...file, status: 'abandoned' })]).reply)).toEqual([])
})

test.each([
  ['data:,', 0],
  ['data:text/plain,a%20b', 3],
  ['data:text/plain;charset=utf-8,é', 2],
  ['data:image/png;base64,', 0],
  ['data:image/png;base64,AA==', 1],
  ['data:image/png;base64,AAA', 2],
  ['DATA:image/png;BASE64,AAAA', 3],
  ['data:image/png;base64,AA AA', undefined],
  ['data:image/png;base64,AA%3D%3D', undefined],
  ['data:image/png', undefined],
  ['file:///a.png', undefined],
  ['https://example.com/data:,a', undefined],
] as const)('the bytes in %s: %s', (url, size) => {
  expect(dataSize(url)).toBe(size)
})
