import { observerOf, type Reply, replay } from '@reply/core'
import { openCode2Version, readRecording, recordedVersions } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { createMirrors } from '../src/config/mirrors.ts'
import type { ActiveRun } from '../src/runs/active-runs.ts'
import { createActiveRuns } from '../src/runs/active-runs.ts'
import { isUnprompted } from '../src/runs/unprompted-runs.ts'

/** What `isUnprompted` says of each reply of a recording, from the first time that it can be told. */
async function told(version: string, scenario: string): Promise<readonly (readonly (boolean | undefined)[])[]> {
  const all: (boolean | undefined)[][] = []
  const observe = () => {
    const one: (boolean | undefined)[] = []
    all.push(one)
    return [observerOf(({ reply }) => void (one.at(-1) === isUnprompted(reply) || one.push(isUnprompted(reply))))]
  }
  await replay(readRecording({ version, scenario }).bytes, { observe })
  return all
}

describe('what a session does by itself', () => {
  test('is what follows background work, not what a person asked for', async () => {
    expect(await told('1.18.33', 'subagent-background')).toEqual([[false], [false], [true]])
    expect(await told('0.0.0-next-16350', 'shell-background')).toEqual([[false], [true]])
  })

  test.each(['1.1.65', '1.2.27', '1.14.41', '1.17.19', '1.18.33'])(
    'is not a command that a person ran in the session, on %s',
    async (version) => expect(await told(version, 'shell')).toEqual([[false]]),
  )

  test.each([...recordedVersions, openCode2Version])(
    'is not a command that starts a sub-agent, on %s',
    async (version) => expect(await told(version, 'command-subtask')).toEqual([[false]]),
  )
})

test('a reply is of a run with the same beginning, and of none when all runs of its session began others', () => {
  const running = createActiveRuns(createMirrors([]))
  const prompt = { channel: 'tg', chat: { id: '1' } }
  const reply: Pick<Reply, 'sessionID' | 'startedAt' | 'messages'> = { sessionID: 'ses_1', startedAt: 5, messages: [] }
  const add = (sessionID: string, startedAt: number | undefined, startedBy?: string) =>
    running.addUntilEnded({
      execution: () => ({ prompt, sessionID, startedBy }),
      stream: () => (startedAt === undefined ? undefined : { reply: { sessionID, startedAt, messages: [] } }),
      ...{ delivered: new Promise(() => {}), ended: new Promise(() => {}) },
    } as unknown as ActiveRun)
  add('ses_2', 5)
  add('ses_1', 5, 'itself')
  expect(running.isOfPromptedRun(reply)).toBe(false)
  add('ses_1', 4)
  expect(running.isOfPromptedRun(reply)).toBe(false)
  add('ses_1', undefined)
  expect(running.isOfPromptedRun(reply)).toBeUndefined()
  add('ses_1', 5)
  expect(running.isOfPromptedRun(reply)).toBe(true)
})
