import { listRecordings, openCode2Version, readRecording, recordedVersions } from '@reply/testing'
import { comparableReply, isOpenCode2 } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { replay } from '../src/index.ts'

/** The replies of a live `watch` on the same server during a recording. */
const watched = [...listRecordings(), ...listRecordings({ generation: 2 })]
  .map(({ version, scenario }) => readRecording({ version, scenario }))
  .filter((recording) => recording.watched !== undefined)
  // `/event` ends with its instance. Up to 1.14 the end of a run comes later, and only on `/global/event`, which the
  // watch used.
  .filter(({ bytes, scenario }) => scenario !== 'disposed' || tellsAbort(bytes))

test('the replies of a live watch are stored for every version', () =>
  expect([...new Set(watched.map(({ version }) => version))]).toEqual([...recordedVersions, openCode2Version]))

describe('replay gives the same replies as the live watch', () => {
  test.each(watched.map((recording) => [`${recording.version}/${recording.scenario}`, recording] as const))(
    '%s',
    async (_, recording) => {
      const replies = JSON.parse(JSON.stringify((await replay(recording.bytes)).map(comparableReply)))
      const differing = readOnly.get(`${recording.version}/${recording.scenario}`)
      const [ours, theirs] = [replies, comparableReply(recording.watched)].map((list) =>
        withoutLate(withoutNewerPrompts(list, recording.scenario), recording.version),
      )
      if (differing) expect(ours, differing).not.toEqual(theirs)
      else expect(ours).toEqual(theirs)
    },
  )
})

/** What the live watch read over REST and no event told, with the reason. */
const readOnly: ReadonlyMap<string, string> = new Map([
  [
    `${openCode2Version}/stopped-tool`,
    'A server that stops stores the end of its step and its calls, and sends neither.',
  ],
  [`${openCode2Version}/killed-tool`, 'What a call reports on its way is not stored, so a read drops it.'],
])

/**
 * The stored replies lack the texts of prompts that join a run, and of commands that start a sub-agent, which
 * `joined-prompts.test.ts` checks.
 */
function withoutNewerPrompts(value: unknown, scenario: string): unknown {
  const isLacking = (key: string): boolean =>
    key === 'joinedPrompts' || (key === 'prompt' && scenario === 'command-subtask')
  return JSON.parse(JSON.stringify(value, (key, inner) => (isLacking(key) ? undefined : inner)))
}

/** OpenCode 2 may name a session after its run is over, which reports no change. */
function withoutLate(value: unknown, version: string): unknown {
  if (!isOpenCode2(version)) return value
  return JSON.parse(JSON.stringify(value, (key, inner) => (key === 'title' ? undefined : inner)))
}

function tellsAbort(bytes: Uint8Array): boolean {
  return new TextDecoder().decode(bytes).includes('MessageAbortedError')
}
