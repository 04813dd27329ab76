import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { textOf } from '@reply/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codex } from '../../src/codex.ts'
import { recordingOf } from '../replay.ts'
import { codexVersions } from './codex-stage.ts'
import { type EarlierSession, type Found, findEarlier } from './earlier.ts'
import { writeProgram, writeReplayProgram } from './replay-program.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-earlier-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The session that a recording lists, and its prompt that was cut off. */
function earlierIn(recording: string): EarlierSession {
  const lines = JSON.stringify(recordingOf('codex', recording))
  const [, sessionID = ''] = /"thread\/resume","params":\{"threadId":"([^"]+)/.exec(lines) ?? []
  const [, messageID] = /"clientId":"([^"]+)/.exec(lines) ?? []
  const read = [...lines.matchAll(/"thread\/turns\/list","params":\{"threadId":"([^"]+)/g)].map(([, id = '']) => id)
  const childID = read.find((id) => id !== sessionID) ?? ''
  const posted = { sessionID, messageID, text: '[scenario:slow] Go.', at: Date.now() }
  return { posted, childID }
}

async function found(version: string): Promise<Found & { readonly earlier: EarlierSession }> {
  const command = join(folder, version)
  writeReplayProgram(command, `${version}/earlier`)
  const earlier = earlierIn(`${version}/earlier`)
  const source = codex({ command, cwd: folder, graceMs: 200 })
  return { ...(await findEarlier(source, '/project', earlier)), earlier }
}

test('sessions that changed in the second of a time are listed since that time', async () => {
  const command = join(folder, 'since')
  const threads = [1000, 999].map((updatedAt) => ({ id: `changed at ${updatedAt}`, cwd: '/project', updatedAt }))
  writeProgram(command, [
    { from: 'us', line: { id: 1, method: 'thread/list', params: {} } },
    { from: 'codex', line: { id: 1, result: { data: threads } } },
    { from: 'us', line: { id: 2, method: 'turn/start', params: { threadId: 'root' } } },
  ])
  const source = codex({ command, cwd: folder, graceMs: 200 })
  const found = await source.sessions({ directory: '/project', since: 1_000_500 })
  source.close()
  expect(found.map(({ sessionID }) => sessionID)).toEqual(['changed at 1000'])
})

describe.each(codexVersions)('Codex %s', (version) => {
  test('the sessions of an earlier process are listed, read and copied', async () => {
    const { sessionIDs, cut, childTexts, copied, earlier } = await found(version)
    expect(sessionIDs).toContain(earlier.posted.sessionID)
    expect([textOf(cut), cut.outcome, cut.prompt?.text]).toEqual(['I begin.', 'aborted', '[scenario:slow] Go.'])
    expect(childTexts).toEqual(['[scenario:late-plain] Look around.', 'The child is done.'])
    expect(copied).toEqual(['[scenario:delegate-plain] Go.', 'It works.'])
  })
})
