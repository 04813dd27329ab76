import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { changesOf, countChanges, diffText } from '@reply/core/show'
import { createRecordedServer, openCode2Version, readRecording, recordedVersions } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { type FileChange, replay } from '../../src/index.ts'
import { changeOfFields, changesOfMessages, mergedChanges } from '../../src/show/changes.ts'
import { connectSource } from '../../src/source.ts'
import { ended, reduced, run, running, tool, user } from '../make.ts'
import { sourceAt } from '../source/live-stage.ts'

const list = { path: 'list.txt', kind: 'modified', additions: 1, deletions: 1 }
const listPatch = '@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n'
const added = { path: 'new.txt', kind: 'added', additions: 1, deletions: 0, patches: ['@@ -0,0 +1,1 @@\n+new\n'] }

describe.each([...recordedVersions, openCode2Version])('OpenCode %s', (version) => {
  // These versions take their first snapshot too late, so they miss what the first step wrote.
  const isLate = version === '1.1.65' || version === '1.2.27'

  test('a run tells which files it changed, and how', async () => {
    const { bytes } = readRecording({ version, scenario: 'write-edit' })
    const [reply] = await replay(bytes)
    const changes = reply ? changesOf(reply) : []
    expect(changes.toSorted((a, b) => (a.path < b.path ? 1 : -1))).toEqual([
      ...(isLate ? [] : [expect.objectContaining(added)]),
      expect.objectContaining({ ...list, patches: [listPatch] }),
    ])
    const counts = { files: 2, additions: 2, deletions: 1 }
    expect(countChanges(changes)).toEqual(isLate ? { ...counts, files: 1, additions: 1 } : counts)
  })

  test('the diff of the session has the same files', async () => {
    const { bytes } = readRecording({ version, scenario: 'write-edit' })
    const [reply] = await replay(bytes)
    const server = createRecordedServer({ bytes, version })
    server.publish(server.length)
    const source = sourceAt('http://recorded', server.fetch)
    const client = connectSource(source, { directory: reply?.directory })
    const changes = await client.diff(reply?.sessionID ?? '')
    expect(changes.map(({ path }) => path).toSorted()).toEqual(isLate ? ['list.txt'] : ['list.txt', 'new.txt'])
    await client.close()
  })
})

const change = (path: string, more: Partial<FileChange> = {}): FileChange => ({
  path,
  kind: 'modified',
  patches: [],
  ...more,
})

test('what the server reports for a prompt counts, and each report replaces the one before', () => {
  const events = [
    ...running,
    tool('m1', { tool: 'edit', status: 'completed', input: { filePath: 'ignored.ts' } }),
    user('u1', { changes: [change('a.ts', { additions: 1, deletions: 0 })] }),
    user('u1', {
      changes: [change('a.ts', { additions: 2, deletions: 1 }), change('b.ts', { additions: 3, deletions: 0 })],
    }),
    user('u2', { changes: [change('a.ts', { additions: 4, deletions: 0 })] }),
  ]
  const { reply } = run(events)
  expect(countChanges(changesOf(reply))).toEqual({ files: 2, additions: 9, deletions: 1 })
  expect(reduced([user('u2', { changes: [change('a.ts', { additions: 4, deletions: 0 })] })], reply).reply).toBe(reply)
  expect(reduced([user('u2')], reply).reply).toBe(reply)
})

test('a prompt that is reverted takes its changes with it', () => {
  const { reply } = run([...running, user('u1', { changes: [change('a.ts')] })])
  const reverted = reduced(
    [{ type: 'message-removed', at: 1, sessionID: reply.sessionID, messageID: 'u1' }],
    reply,
  ).reply
  expect(changesOf(reverted)).toEqual([])
})

test.each<[string, Parameters<typeof tool>[1], readonly Partial<FileChange>[]]>([
  [
    'a patch of OpenCode 1',
    {
      tool: 'apply_patch',
      input: { patchText: '*** Begin Patch' },
      metadata: {
        files: [
          {
            filePath: '/shop/a.ts',
            relativePath: 'a.ts',
            type: 'add',
            diff: '@@ -0,0 +1,1 @@\n+a\n',
            additions: 1,
            deletions: 0,
          },
          {
            filePath: '/shop/b.ts',
            relativePath: 'b.ts',
            type: 'move',
            movePath: '/shop/c.ts',
            before: 'b\n',
            after: 'c\n',
          },
        ],
      },
    },
    [
      { path: 'a.ts', kind: 'added', additions: 1, deletions: 0 },
      { path: 'c.ts', from: 'b.ts', kind: 'renamed', patches: ['@@ -1,1 +1,1 @@\n-b\n+c\n'] },
    ],
  ],
  [
    'an edit of Claude Code',
    {
      tool: 'edit',
      input: { filePath: '/shop/a.ts' },
      metadata: {
        structuredPatch: [{ oldStart: 7, oldLines: 2, newStart: 7, newLines: 2, lines: [' a', '-b', '+B'] }],
      },
    },
    [{ path: 'a.ts', kind: 'modified', patches: ['@@ -7,2 +7,2 @@\n a\n-b\n+B\n'] }],
  ],
  [
    'a new file of Claude Code',
    {
      tool: 'write',
      input: { filePath: '/shop/a.ts', content: 'a\nb\n' },
      metadata: { structuredPatch: [], type: 'create' },
    },
    [{ path: 'a.ts', kind: 'added', additions: 2, deletions: 0 }],
  ],
  [
    'a change of Codex',
    {
      tool: 'apply_patch',
      input: {
        changes: [
          { path: '/shop/new.ts', kind: { type: 'add' }, diff: 'one\ntwo\n' },
          { path: '/shop/old.ts', kind: { type: 'delete' }, diff: 'one\n' },
          {
            path: '/shop/b.ts',
            kind: { type: 'update', move_path: '/shop/c.ts' },
            diff: '@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: c.ts',
          },
          { path: '/shop/d.ts', kind: { type: 'update', move_path: null }, diff: '@@ -1 +1 @@\n-a\n+b\n' },
        ],
      },
    },
    [
      { path: 'new.ts', kind: 'added', additions: 2, deletions: 0 },
      { path: 'old.ts', kind: 'deleted', additions: 0, deletions: 1 },
      { path: 'c.ts', from: 'b.ts', kind: 'renamed', additions: 1, deletions: 1 },
      { path: 'd.ts', kind: 'modified', additions: 1, deletions: 1 },
    ],
  ],
  [
    'a call over ACP with any name',
    {
      tool: 'replace',
      input: {},
      metadata: {
        content: [
          { type: 'content', content: { type: 'text', text: 'Done.' } },
          { type: 'diff', path: '/shop/a.ts', oldText: 'a\nb\n', newText: 'a\nB\n' },
          { type: 'diff', path: '/shop/b.ts', oldText: null, newText: 'b\n' },
        ],
      },
    },
    [
      { path: 'a.ts', kind: 'modified', additions: 1, deletions: 1 },
      { path: 'b.ts', kind: 'added', additions: 1, deletions: 0 },
    ],
  ],
  [
    'a file whose lines are not known',
    { tool: 'write', input: { filePath: '/shop/a.ts', content: 'a' } },
    [{ path: 'a.ts', kind: 'modified', patches: [] }],
  ],
])('%s tells the lines', (_, call, changes) => {
  const { reply } = run([...running, tool('m1', { status: 'completed', ...call })])
  expect(changesOf({ ...reply, directory: '/shop' })).toMatchObject(changes)
})

test('each run of a session counts by what the server reports for it, or else by its edits', () => {
  const edit = (id: string, path: string) => ({
    head: { ...ended(id).message },
    parts: [tool(id, { tool: 'edit', status: 'completed', input: { filePath: path } }).part],
  })
  const prompt = (id: string, changes?: readonly FileChange[]) => ({
    head: { ...user(id).message, changes },
    parts: [],
  })
  const messages = [
    prompt('u1', [change('a.ts')]),
    edit('m1', 'not-in-git.ts'),
    prompt('u2', []),
    edit('m2', 'b.ts'),
    prompt('u3'),
    prompt('u4', [change('c.ts')]),
    edit('m3', 'd.ts'),
  ]
  expect(changesOfMessages(messages, undefined).map(({ path }) => path)).toEqual(['a.ts', 'b.ts', 'c.ts'])
})

test('changes of one file become one, and a file that was made and removed is none', () => {
  const hunks = (text: string): readonly string[] => [`@@ -1,1 +1,1 @@\n-${text}\n+${text}!\n`]
  expect(
    mergedChanges(
      [
        change('/shop/a.ts', { kind: 'added', additions: 1, patches: hunks('a') }),
        change('/shop/tmp', { kind: 'added' }),
        change('a.ts', { additions: 2, deletions: 1, patches: hunks('b') }),
        change('tmp', { kind: 'deleted' }),
        change('gone.ts', { kind: 'deleted' }),
        change('gone.ts', { kind: 'added' }),
        change('old.ts', { additions: 1 }),
        change('new.ts', { kind: 'renamed', from: 'old.ts', additions: 1 }),
        change('./b.ts'),
      ],
      '/shop',
    ),
  ).toEqual([
    { path: 'a.ts', kind: 'added', additions: 3, deletions: 1, patches: [...hunks('a'), ...hunks('b')] },
    { path: 'gone.ts', kind: 'modified', additions: undefined, deletions: undefined, patches: [] },
    { path: 'new.ts', from: 'old.ts', kind: 'renamed', additions: 2, deletions: undefined, patches: [] },
    { path: 'b.ts', kind: 'modified', patches: [] },
  ])
})

test('Git applies the text of all changes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reply-diff-'))
  const odd = 'sp ä "q" \\ \n\u0001.txt'
  writeFileSync(join(folder, 'edit.txt'), 'a\nb\n')
  writeFileSync(join(folder, 'gone.txt'), 'g\n')
  writeFileSync(join(folder, 'old.txt'), 'm\n')
  const text = diffText([
    change(odd, { kind: 'added', additions: 1, patches: ['@@ -0,0 +1,1 @@\n+x\n'] }),
    change('edit.txt', { patches: ['@@ -1,2 +1,2 @@\n a\n-b\n+B\n', '@@ -1,2 +1,2 @@\n-a\n+A\n B\n'] }),
    change('gone.txt', { kind: 'deleted', patches: ['@@ -1,1 +0,0 @@\n-g\n'] }),
    change('new.txt', { kind: 'renamed', from: 'old.txt' }),
    change('unknown.txt'),
  ])
  // Git applies only one section for a file at once, as `patch` does not.
  for (const section of text.split(/(?=^diff --git )/m).filter((one) => one.startsWith('diff')))
    execFileSync('git', ['apply', '-'], { cwd: folder, input: section })
  expect(readFileSync(join(folder, odd), 'utf8')).toBe('x\n')
  expect(readFileSync(join(folder, 'edit.txt'), 'utf8')).toBe('A\nB\n')
  expect(readFileSync(join(folder, 'new.txt'), 'utf8')).toBe('m\n')
  expect(() => readFileSync(join(folder, 'gone.txt'))).toThrow()
  expect(text).toContain('# unknown.txt: the lines are not known\n')
  rmSync(folder, { recursive: true })
})

test('a binary file and a new mode have a section without lines', () => {
  const [binary] = changeOfFields({ file: 'bin.dat', patch: '', additions: 0, deletions: 0, status: 'added' })
  const [mode] = changeOfFields({
    ...{ file: 'run.sh', additions: 0, deletions: 0, status: 'modified' },
    patch: 'Index: run.sh\n=====\n--- run.sh\t\n+++ run.sh\t\n',
  })
  expect(binary).toMatchObject({ isBinary: true, kind: 'added', patches: [] })
  expect(mode && 'isBinary' in mode).toBe(false)
  expect(diffText([binary, mode].filter((one) => one !== undefined))).toBe(
    'diff --git a/bin.dat b/bin.dat\nnew file mode 100644\nBinary files a/bin.dat and b/bin.dat differ\ndiff --git a/run.sh b/run.sh\n',
  )
  expect([7, {}, { file: 3 }].flatMap(changeOfFields)).toEqual([])
})
