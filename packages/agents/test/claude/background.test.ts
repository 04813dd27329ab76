import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Reply, textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claude } from '../../src/claude.ts'
import { backgroundScenes } from './background-scenes.ts'
import { writeReplayProgram } from './replay-program.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-background-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A client of the recorded Claude Code. */
function open(recording: string) {
  const command = join(folder, recording.replaceAll('/', '-'))
  writeReplayProgram(command, recording)
  return { client: connectSource(claude({ command, cwd: folder })), directory: folder }
}

async function played(version: string, name: string): Promise<readonly Reply[]> {
  const stage = open(`${version}/${name}`)
  const replies = await backgroundScenes[name]?.(stage)
  await stage.client.close()
  return replies ?? []
}

const shown = (replies: readonly Reply[]) =>
  replies.map((reply) => [textOf(reply), reply.outcome, reply.prompt?.text ?? ''])

describe.each(['2.1.197', '2.1.332'])('Claude Code %s', (version) => {
  test("a sub-agent in the background asks after its parent's turn, and the agent goes on when it has ended", async () => {
    const replies = await played(version, 'background-agent')
    expect(shown(replies)).toEqual([
      ['I delegate.\n\nIt works.', 'completed', '[scenario:background-agent] Go.'],
      ['', 'completed', ''],
      ['I know it now.', 'completed', ''],
    ])
    const [first, second] = replies
    expect(first?.children).toMatchObject([{ background: true, callID: 'call_0001', title: 'Look around' }])
    const [child] = second?.children ?? []
    expect([child?.reply.outcome, child && textOf(child.reply)]).toEqual([
      'completed',
      'The child works.\n\nThe child is done.',
    ])
    expect(second?.children[0]?.reply.asks).toMatchObject([{ permission: 'bash', status: 'answered' }])
  })

  test('a prompt that is sent while a sub-agent asks gets its own answer, and waits for nothing', async () => {
    const replies = await played(version, 'background-asked')
    expect(shown(replies)).toEqual([
      ['I delegate.\n\nIt works.', 'completed', '[scenario:background-asked] Go.'],
      // The sub-agent alone, until a prompt opens another reply.
      ['', 'completed', ''],
      ['The second answer.', 'completed', '[scenario:meanwhile-asked] Go.'],
      ['', 'completed', ''],
      ['I know it now.', 'completed', ''],
    ])
    expect(replies[2]?.asks).toMatchObject([{ permission: 'bash', status: 'pending' }])
    const child = replies[3]?.children[0]?.reply
    expect([child?.outcome, child && textOf(child)]).toEqual(['completed', 'The child works.\n\nThe child is done.'])
  })

  test('a prompt that is sent while the turn after a command runs gets its own answer', async () => {
    const replies = await played(version, 'background-command')
    expect(shown(replies)).toEqual([
      ['It runs.', 'completed', '[scenario:background-command] Go.'],
      ['The command is done.', 'completed', ''],
      ['The second answer.', 'completed', '[scenario:meanwhile] Go.'],
    ])
    // A command is not shown as a sub-agent.
    expect(replies.flatMap(({ children }) => children)).toEqual([])
    for (const { usage } of replies) expect(usage.cost).toBeGreaterThan(0)
  })

  test('Stop ends a sub-agent in the background, even if no run is open', async () => {
    const replies = await played(version, 'background-endless')
    expect(replies[1]?.children[0]?.reply.outcome).toBe('aborted')
  })
})
