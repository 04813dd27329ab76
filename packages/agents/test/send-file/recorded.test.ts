import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claude } from '../../src/claude.ts'
import { codex } from '../../src/codex.ts'
import { replayed } from '../acp/replay.ts'
import * as claudeProgram from '../claude/replay-program.ts'
import * as codexProgram from '../codex/replay-program.ts'
import { sendingAgents } from './agents.ts'
import { expectedOf, outlineOf } from './expected.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-send-file-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A client of the recorded agent. */
function clientOf(recording: string, protocol: 1 | 2 | 'auto' | undefined): Client {
  const [kind, version = ''] = recording.split('/')
  if (kind === 'acp') return replayed('send-file', version, protocol).client
  const command = join(folder, recording.replace('/', '-'))
  const file = `${version}/send-file`
  if (kind === 'claude') claudeProgram.writeReplayProgram(command, file)
  else codexProgram.writeReplayProgram(command, file)
  return connectSource(kind === 'claude' ? claude({ command, cwd: folder }) : codex({ command }))
}

test.each(sendingAgents)('$recording: files that the agent sends are attached to their calls', async (agent) => {
  const client = clientOf(agent.recording, agent.protocol)
  const reply = await client.prompt(
    { text: 'Send it. [scenario:send]', agent: agent.mode },
    { observe: () => [{ permissionAsked: ({ ask }) => void client.answer(ask, 'once') }] },
  ).result
  await client.close()
  expect(outlineOf(reply)).toMatchObject(
    expectedOf(['file:///project/sales%202026.png', 'file:///project/rows.csv'], agent),
  )
})
