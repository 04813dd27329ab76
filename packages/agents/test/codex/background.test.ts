import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Reply, systemClock, textOf, toolsOf } from '@reply/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { promptItems } from '../../src/codex/prompt.ts'
import { codex } from '../../src/codex.ts'
import { recordingOf } from '../replay.ts'
import { codexVersions } from './codex-stage.ts'
import { writeReplayProgram } from './replay-program.ts'
import { codexScenes, connectScene, dot } from './scenes.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-background-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Plays a scene. Codex's events are dated by a clock that is `aheadMs` before that of the client. */
async function played(version: string, name: string, aheadMs = 0): Promise<readonly Reply[]> {
  const command = join(folder, `${version}-${name}`)
  writeReplayProgram(command, `${version}/${name}`)
  const clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
  const stage = connectScene(codex({ command, cwd: folder, graceMs: 200, clock }))
  const replies = await codexScenes[name]?.play({ ...stage, directory: folder })
  await stage.client.close()
  return replies ?? []
}

const shown = (replies: readonly Reply[]) =>
  replies.map((reply) => [textOf(reply), reply.outcome, reply.prompt?.text ?? ''])

describe.each(codexVersions)('Codex %s', (version) => {
  // A prompt is preceded by a read. The parent's idle status, which came just before, is dated after or before that read.
  test.each([60_000, -60_000])(
    "a sub-agent asks after its parent's turn, and a prompt meanwhile gets its own answer (%d ms)",
    async (aheadMs) => {
      const replies = await played(version, 'background-agent', aheadMs)
      expect(shown(replies)).toEqual([
        ['I delegate.\n\nIt works.', 'completed', '[scenario:background-agent] Go.'],
        // The sub-agent alone, until a prompt opens another reply.
        ['', 'completed', ''],
        ['The second answer.', 'completed', '[scenario:meanwhile] Go.'],
        ['', 'completed', ''],
      ])
      const [first, , second, last] = replies
      const [task] = first ? toolsOf(first) : []
      expect(task).toMatchObject({
        tool: 'task',
        state: { input: { description: '[scenario:late-child] Look around.' } },
      })
      expect(first?.children).toMatchObject([{ background: true, callID: task?.callID }])
      expect(second?.asks).toMatchObject([{ permission: 'bash', title: 'May I make a file?' }])
      const [child] = last?.children ?? []
      expect([child?.reply.outcome, child && textOf(child.reply)]).toEqual([
        'completed',
        'The child works.\n\nThe child is done.',
      ])
    },
  )

  test('Stop ends a sub-agent at work, even if no run is open', async () => {
    const replies = await played(version, 'background-endless')
    expect(shown(replies).at(-1)).toEqual(['', 'aborted', ''])
    expect(replies.at(-1)?.children).toMatchObject([{ background: true, reply: { outcome: 'aborted' } }])
  })

  test('a command in the background ends its call with its turn, and shows nothing in the next one', async () => {
    const replies = await played(version, 'background-command')
    expect(shown(replies).map(([text]) => text)).toEqual(['It runs.', 'The second answer.'])
    expect(replies.map((reply) => toolsOf(reply).map(({ state }) => [state.status, state.output]))).toEqual([
      [['completed', 'The command goes on in the background.']],
      [['completed', '']],
    ])
  })

  test('a turn that Codex begins towards its goal is a reply without a prompt', async () => {
    const replies = await played(version, 'goal')
    expect(shown(replies)).toEqual([
      ['I begin with it.', 'completed', '[scenario:goal] Go.'],
      ['It is reached.', 'completed', ''],
    ])
  })

  test('a prompt to a busy session joins its reply', async () => {
    const replies = await played(version, 'steer')
    expect(shown(replies)).toEqual([['I begin.\n\nThe second answer.', 'completed', '[scenario:slow] Go.']])
    expect(replies[0]?.promptIDs.length).toBe(2)
  })

  test('pictures of a prompt are sent to Codex', async () => {
    const [reply] = await played(version, 'pictures')
    expect(reply?.outcome).toBe('completed')
    const [sent] = recordingOf('codex', `${version}/pictures`)
    expect(sent?.line.params).toMatchObject({
      input: [{ type: 'text' }, { type: 'image' }, { type: 'localImage', path: '/project/dot.png' }],
    })
  })
})

test.each([
  [
    { mime: 'application/pdf', url: 'data:application/pdf,%25PDF-1.7' },
    'does not take a file of the type application/pdf',
  ],
  [{ mime: 'image/png', url: 'file:///no/such/picture.png' }, "file file:///no/such/picture.png can't be read"],
])('a file that Codex would not see is refused: %o', async (file, message) => {
  await expect(promptItems('codex', { text: 'Look.', files: [file] })).rejects.toThrow(message)
})

test('a text file becomes a text, and a picture gets the type of its content', async () => {
  const files = [
    { mime: 'text/csv', url: 'data:text/csv,a%3Bb', filename: 'rows.csv' },
    { mime: 'image/jpeg', url: `data:image/jpeg;base64,${dot}` },
  ]
  expect(await promptItems('codex', { text: 'Look.', files })).toEqual([
    { type: 'text', text: 'Look.' },
    { type: 'text', text: 'Attached file: rows.csv\n\na;b' },
    { type: 'image', url: `data:image/png;base64,${dot}` },
  ])
})
