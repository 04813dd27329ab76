import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, type Reply, textOf } from '@reply/core'
import { connectSource, type Source } from '@reply/core/source'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { claude } from '../../src/claude.ts'

const sessionID = '00000000-0000-4000-8000-000000000001'
const recordings = join(import.meta.dirname, '../../recordings/claude')
let home: string
let project: string
let source: Source
let client: Client

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reply-transcripts-'))
  project = join(home, '.claude/projects/-project')
  mkdirSync(project, { recursive: true })
})

afterEach(async () => {
  await client.close()
  rmSync(home, { recursive: true, force: true })
})

/** Connects to a Claude Code with a recorded transcript. Its program is never started. */
function open(version: string): void {
  const recorded = join(recordings, version, 'transcript')
  cpSync(join(recorded, 'session.jsonl'), join(project, `${sessionID}.jsonl`))
  cpSync(join(recorded, 'session'), join(project, sessionID), { recursive: true })
  connect()
}

function connect(): void {
  source = claude({
    command: process.execPath,
    cwd: home,
    env: { HOME: home, CLAUDE_CONFIG_DIR: join(home, '.claude') },
  })
  client = connectSource(source)
}

const place = { sessionID, directory: undefined }
const messages = async () => (await source.startReading().session(place, { messageIDs: [], since: 0 })).messages

async function found(text: string): Promise<Reply> {
  const resumed = await client.resume({ sessionID, text, at: Date.now() })
  if (resumed.type !== 'found') throw new Error(`It is ${resumed.type}.`)
  return await resumed.stream.result
}

describe.each(['2.1.197', '2.1.332'])('the transcript of Claude Code %s', (version) => {
  test('has the last runs, also the one that its own process did not end', async () => {
    open(version)
    const reply = await found('[scenario:permission-held] Go.')
    expect([textOf(reply), reply.outcome]).toEqual(['I run it.', 'aborted'])
    const calls = reply.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool' ? [part] : [])))
    expect(calls.map(({ tool, state }) => [tool, state.status])).toEqual([['bash', 'completed']])
    const texts = (await messages())
      .filter(({ head }) => head.role === 'user')
      .flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))
    expect(texts).toEqual(['[scenario:unauthorized] Go.', '[scenario:endless] Go.', '[scenario:permission-held] Go.'])
  })

  test('finds a prompt by its id, and its session by the folder in which it ran', async () => {
    open(version)
    const { directory, title, createdAt = 0 } = await source.session(place)
    expect([directory, title]).toEqual(['/project', '[scenario:plain] Begin.'])
    expect(createdAt).toBeGreaterThan(0)
    const [first] = await messages()
    const resumed = await client.resume({ sessionID, messageID: first?.head.id, text: 'Something else.', at: 0 })
    expect(resumed.type).toBe('found')
    const other = { sessionID, messageID: 'another', text: 'Not sent.' }
    expect((await client.resume({ ...other, at: Date.now() - 60_000 })).type).toBe('absent')
    // It may belong to one of the runs before the last three.
    expect((await client.resume({ ...other, at: 0 })).type).toBe('unknown')
  })

  test('has the sub-agents with their answers', async () => {
    open(version)
    const path = join(project, `${sessionID}.jsonl`)
    const lines = readFileSync(path, 'utf8').split('\n')
    // Up to the third prompt.
    writeFileSync(path, lines.slice(0, 7).join('\n'))
    const { children } = await found('[scenario:delegate] Go.')
    expect(children.map(({ title, reply }) => [title, textOf(reply), reply.outcome])).toEqual([
      ['Look around', 'The child works.\n\nThe child is done.', 'completed'],
    ])
  })

  test('tells how a run ended', async () => {
    open(version)
    const ends = (await messages()).flatMap(({ head }) => (head.role === 'assistant' ? [head.error?.name] : []))
    expect(ends.slice(0, 2)).toEqual(['ClaudeError', 'MessageAbortedError'])
  })

  test('is read although its last line was cut off', async () => {
    open(version)
    const path = join(project, `${sessionID}.jsonl`)
    truncateSync(path, statSync(path).size - 200)
    writeFileSync(path, '\nno JSON "type":"user"\n{"type":"user"}\n[]\n"type":"user"\n', { flag: 'a' })
    expect((await found('[scenario:permission-held] Go.')).outcome).toBe('aborted')
  })
})

/** A transcript of a few lines. */
function write(...lines: readonly object[]): void {
  const first = { timestamp: '2026-11-25T10:00:00.000Z', cwd: '/project' }
  writeFileSync(
    join(project, `${sessionID}.jsonl`),
    lines.map((line) => JSON.stringify({ ...first, ...line })).join('\n'),
  )
}

let ids = 0
const user = (content: unknown, more: object = {}) => ({
  type: 'user',
  uuid: `u${++ids}`,
  message: { content },
  ...more,
})
const assistant = (content: readonly object[], stop_reason: string | null, more: object = {}) => ({
  type: 'assistant',
  message: { id: `m${++ids}`, model: 'claude', content, stop_reason, usage: {} },
  ...more,
})
const text = (words: string) => ({ type: 'text', text: words })

test('a slash command is the prompt that was typed, and notes of Claude Code are none', async () => {
  write(
    user('<command-name>/review</command-name><command-args>all of it</command-args>'),
    user('Caveat: generated.', { isMeta: true }),
    assistant([text('Reviewed.')], 'end_turn'),
  )
  connect()
  expect(textOf(await found('/review all of it'))).toBe('Reviewed.')
})

test('of the same text sent three times, each is found by its id', async () => {
  write(
    ...['one', 'two', 'three'].flatMap((answer) => [
      user('yes', { uuid: `prompt-${answer}` }),
      assistant([text(answer)], 'end_turn'),
    ]),
  )
  connect()
  const at = Date.parse('2026-11-25T10:00:00.000Z')
  for (const answer of ['one', 'two', 'three']) {
    const resumed = await client.resume({ sessionID, messageID: `prompt-${answer}`, text: 'yes', at })
    expect(resumed.type === 'found' && textOf(await resumed.stream.result)).toBe(answer)
  }
  const after = 'prompt-three'
  expect((await client.resume({ sessionID, messageID: 'prompt-four', after, text: 'yes', at })).type).toBe('absent')
})

test('an answer that the limit cut off, and one that a person interrupted', async () => {
  write(
    user('Long.'),
    assistant([text('Cut')], 'max_tokens'),
    user('Next.'),
    assistant([text('Half')], null),
    user([text('[Request interrupted by user]')]),
  )
  connect()
  expect((await found('Next.')).outcome).toBe('aborted')
  const ends = (await messages()).flatMap(({ head }) => (head.role === 'assistant' ? [head.finish] : []))
  expect(ends[0]).toBe('length')
})

test('the files of a prompt and of a tool are those that were sent', async () => {
  const source = { type: 'base64', media_type: 'image/png', data: 'iVBO' }
  const document = { type: 'document', title: 'a.txt', source: { type: 'text', media_type: 'text/plain', data: 'a' } }
  write(
    user([{ type: 'image', source }, document]),
    assistant([{ type: 'tool_use', id: 'call', name: 'Read', input: { file_path: 'b.png' } }], 'tool_use'),
    user([{ type: 'tool_result', tool_use_id: 'call', content: [{ type: 'image', source }] }]),
    assistant([text('I see.')], 'end_turn'),
  )
  connect()
  const parts = (await messages()).flatMap((message) => message.parts)
  const files = parts.flatMap((part) => {
    if (part.type === 'tool') return part.state.attachments ?? []
    return part.type === 'file' ? [part] : []
  })
  expect(files.map(({ url, filename }) => [url, filename])).toEqual([
    ['data:image/png;base64,iVBO', undefined],
    ['data:text/plain;base64,YQ==', 'a.txt'],
    ['data:image/png;base64,iVBO', undefined],
  ])
})

test('a turn of Claude Code itself is a run without a prompt', async () => {
  write(
    user('Go.'),
    assistant([text('It runs.')], 'end_turn'),
    user('<task-notification><summary>The command has ended.</summary></task-notification>', {
      origin: { kind: 'task-notification' },
    }),
    assistant([text('It is done.')], 'end_turn'),
  )
  connect()
  const reply = await client.reply(sessionID)
  expect([reply && textOf(reply), reply?.prompt?.text ?? '']).toEqual(['It is done.', ''])
  expect(textOf(await found('Go.'))).toBe('It runs.')
})

test('lists sessions, newest first, of one folder or all', async () => {
  write(user('First.'))
  const other = join(home, '.claude/projects/-other')
  const otherID = '00000000-0000-4000-8000-000000000002'
  mkdirSync(other)
  writeFileSync(join(other, `${otherID}.jsonl`), JSON.stringify({ ...user('Second.'), cwd: '/other' }))
  writeFileSync(join(other, 'notes.jsonl'), 'Not a session.')
  utimesSync(join(project, `${sessionID}.jsonl`), 1000, 1000)
  connect()
  await client.ready
  expect((await client.sessions()).map((info) => [info.sessionID, info.directory, info.title])).toEqual([
    [otherID, '/other', 'Second.'],
    [sessionID, '/project', 'First.'],
  ])
  expect((await source.sessions({ directory: '/project' })).map((info) => info.sessionID)).toEqual([sessionID])
  expect((await source.sessions({ everywhere: true, since: 2_000_000 })).map((info) => info.sessionID)).toEqual([
    otherID,
  ])
})

test('a transcript that is gone, or is a folder, leaves the others in the list', async () => {
  write(user('First.'))
  mkdirSync(join(project, '00000000-0000-4000-8000-000000000002.jsonl'))
  symlinkSync(join(home, 'gone'), join(project, '00000000-0000-4000-8000-000000000003.jsonl'))
  connect()
  expect((await source.sessions({ directory: '/project' })).map((info) => info.sessionID)).toEqual([sessionID])
})

test('a session without a transcript is gone, unless Claude Code keeps no transcripts here', async () => {
  connect()
  await expect(source.session(place)).rejects.toThrow(`has no session ${sessionID}`)
  await client.close()
  rmSync(join(home, '.claude'), { recursive: true })
  connect()
  expect(await source.session(place)).toMatchObject({ sessionID })
  expect((await client.resume({ ...place, text: 'Go.', at: 0 })).type).toBe('unknown')
})
