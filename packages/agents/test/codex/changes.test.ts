import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { changesOf } from '@reply/core/show'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codex } from '../../src/codex.ts'
import { codexVersions } from './codex-stage.ts'
import { writeReplayProgram } from './replay-program.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-codex-changes-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each(codexVersions)(
  'the patches of Codex %s tell the changed lines, and not what a command changed',
  async (version) => {
    const command = join(folder, version)
    writeReplayProgram(command, `${version}/patch`)
    const client = connectSource(codex({ command }))
    const reply = await client.prompt(
      { text: '[scenario:patch] Go.' },
      { observe: () => [{ permissionAsked: ({ ask }) => void client.answer(ask, 'once') }] },
    ).result
    // Codex was recorded in another folder.
    const ofRun = changesOf({ ...reply, directory: '/project' })
    const ofSession = await client.diff(reply.sessionID)
    await client.close()
    expect(ofRun).toMatchObject([
      // A line that was changed twice counts twice. What the command added is not known.
      { path: 'list.txt', kind: 'modified', additions: 2, deletions: 2 },
      { path: 'src/new.txt', kind: 'added', additions: 1, deletions: 0, patches: ['@@ -0,0 +1,1 @@\n+new\n'] },
      // Codex adds the new name to the diff.
      { path: 'renamed.txt', from: 'name.txt', kind: 'renamed', patches: ['@@ -1,1 +1,1 @@\n-a\n+b\n'] },
      { path: 'old.txt', kind: 'deleted', additions: 0, deletions: 1, patches: ['@@ -1,1 +0,0 @@\n-old\n'] },
    ])
    expect(ofSession.map(({ path }) => path)).toEqual(ofRun.map(({ path }) => `/project/${path}`))
    expect(ofSession.map(({ patches }) => patches)).toEqual(ofRun.map(({ patches }) => patches))
  },
)
