import { emptyReply, type FileChange } from '@reply/core'
import { FileRefusal, PortError } from '@reply/sink/channel'
import { expect, test } from 'vitest'
import { postReply } from '../src/commands/command.ts'
import { type DiffClient, diffReply } from '../src/commands/diff.ts'

const session = { server: 'shop', sessionID: 'ses_1' }

const change = (path: string, more: Partial<FileChange> = {}): FileChange => ({
  ...{ path, kind: 'modified', additions: 1, deletions: 1, patches: ['@@ -1,1 +1,1 @@\n-a\n+b\n'] },
  ...more,
})

const clientWith = (changes: readonly FileChange[], more: Partial<DiffClient> = {}): DiffClient => ({
  diff: async () => changes,
  readsSessions: async () => true,
  reply: async () => undefined,
  ...more,
})

const replyTo = async (changes: readonly FileChange[], given?: string) =>
  await diffReply(clientWith(changes), session, given)

const textOfFile = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes)

test('the diff of a session is a document with the numbers and the names of its files', async () => {
  const { text, file } = await replyTo([
    change('src/a.ts'),
    change('b.ts', { kind: 'added', additions: 40, deletions: 0 }),
  ])
  expect(text).toBe('2 files · +41 −1: src/a.ts, b.ts')
  expect(file?.name).toBe('session-ses_1.diff')
  expect(textOfFile(file?.bytes)).toContain(
    'diff --git a/src/a.ts b/src/a.ts\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,1 +1,1 @@',
  )
})

test('a session without changes has no document', async () => {
  expect(await replyTo([])).toEqual({ text: 'This session changed no files.', session })
  expect((await replyTo([], 'a.ts')).text).toBe('This session changed no files.')
})

test('of an agent that does not show its sessions, the reply says what is not known', async () => {
  const readsSessions = async (): Promise<boolean> => false
  const of = async (changes: readonly FileChange[], more: Partial<DiffClient> = {}, given?: string) =>
    await diffReply(clientWith(changes, { readsSessions, ...more }), session, given)
  expect((await of([])).text).toMatch(/^It is not known what this session changed/)
  expect((await of([], { reply: async () => emptyReply('ses_1') })).text).toMatch(
    /^The last run changed no files\. What/,
  )
  const whole = await of([change('a.ts')])
  expect(whole.text).toMatch(/^1 file · \+1 −1: a\.ts\n\nOf the last run only\./)
  expect(whole.withoutFile?.('No files here.').text).toContain('Of the last run only.')
  expect((await of([change('a.ts')], {}, 'a.ts')).text).toContain('Of the last run only.')
})

test('a file is named by its path, or by the end of it if no other file ends so', async () => {
  const changes = [change('src/a.ts'), change('test/a.ts'), change('a.tsx'), change('deep/x/b.ts')]
  expect((await replyTo(changes, 'src/a.ts')).text).toBe(
    '**src/a.ts** · 1 file · \\+1 −1\n\n```diff\ndiff --git a/src/a.ts b/src/a.ts\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,1 +1,1 @@\n-a\n+b\n```',
  )
  expect((await replyTo(changes, './x/b.ts')).text).toContain('deep/x/b.ts')
  expect((await replyTo(changes, 'a.ts')).text).toMatch(
    /^Several files end with “a.ts”. Which one\?\n- src\/a.ts .*\n- test\/a.ts .*$/,
  )
  expect((await replyTo(changes, 'ts')).text).toMatch(/^“ts” is not a file that this session changed/)
  expect((await replyTo(changes, '../../etc/passwd')).text).toMatch(/^“..\/..\/etc\/passwd” is not a file/)
})

test('the path of a file at the top is exact, although others end with it', async () => {
  expect((await replyTo([change('a.ts'), change('src/a.ts')], 'a.ts')).text).toMatch(/^\*\*a.ts\*\*/)
})

test('a long diff of a file is a document', async () => {
  const long = change('src/long.ts', { patches: [`@@ -0,0 +1,900 @@\n${'+line\n'.repeat(900)}`] })
  const { text, file } = await replyTo([long, change('b.ts')], 'long.ts')
  expect([text, file?.name]).toEqual(['1 file · +1 −1: src/long.ts', 'long.ts.diff'])
  expect(textOfFile(file?.bytes)).not.toContain('b.ts')
})

test('a binary file, and one whose lines are not known, are named', async () => {
  const binary = change('bin.dat', { isBinary: true, additions: 0, deletions: 0, patches: [] })
  expect((await replyTo([binary], 'bin.dat')).text).toBe('**bin.dat** is binary.')
  const unknown = change('b.ts', { additions: undefined, deletions: undefined, patches: [] })
  expect((await replyTo([unknown], 'b.ts')).text).toMatch(/^\*\*b.ts\*\* changed, but the agent does not tell/)
})

test('names of files are never markup, and stay in one line', async () => {
  const odd = change(`a\n**b** [x](http://evil) \u202e${'c'.repeat(300)}`)
  const { text, file } = await replyTo([odd, change('b.ts')])
  expect(text.split('\n')).toHaveLength(1)
  expect(text).not.toContain('\u202e')
  expect(text.length).toBeLessThanOrEqual(300)
  expect(textOfFile(file?.bytes)).toContain('diff --git "a/a\\n**b** [x]')
  const listed = (await replyTo([odd, change('b.ts')], 'none')).text
  expect(listed).toContain('\\*\\*b\\*\\* \\[x\\]')
  expect(listed.split('\n')).toHaveLength(3)
})

test('a code block ends only at its end', async () => {
  const { text } = await replyTo([change('a.md', { patches: ['@@ -0,0 +1,2 @@\n+```\n+@everyone\n'] })], 'a.md')
  expect(text).toMatch(/\n````diff\n[\s\S]*\n````$/)
})

test('of 10,000 files a list names the first', async () => {
  const many = Array.from({ length: 10_000 }, (_, index) => change(`src/${index}.ts`))
  const reply = await replyTo(many)
  expect(reply.text).toMatch(/^10,?000 files · \+10,?000 −10,?000: src\/0.ts, /)
  expect(reply.text.length).toBeLessThanOrEqual(300)
  expect(reply.withoutFile?.('Too large.').text).toMatch(/- src\/19.ts \\\+1 −1\n- … and 9980 more$/)
})

test('a chat that does not take the document gets the reason and the names, as a reply', async () => {
  const posted: unknown[] = []
  const reply = { replyTo: { id: 'm1' }, ...(await replyTo([change('a.ts')])) }
  const channels = (error: Error) => ({
    post: async () => await Promise.reject(error),
    tryPost: async (_: unknown, note: unknown) => {
      posted.push(note)
      return []
    },
  })
  const place = { channel: 'tg', chat: { id: '1' } }
  await postReply(channels(new FileRefusal('too-long', 'The file a.diff has 60 MB, more than 50 MB.')), place, reply)
  await postReply(channels(new PortError('refused', 'No.')), place, reply)
  expect(posted).toMatchObject([
    {
      replyTo: { id: 'm1' },
      text: expect.stringMatching(/^The file a.diff has 60 MB.*\/diff with the name.*\n\n1 file · \\\+1 −1\n- a.ts/),
    },
    { replyTo: { id: 'm1' } },
  ])
})
