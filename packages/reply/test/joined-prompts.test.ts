import { openCode2Version, readRecording, recordedVersions } from '@reply/testing'
import { expect, test } from 'vitest'
import { promptOf, replay } from '../src/index.ts'

test.each([...recordedVersions, openCode2Version])(
  'the prompts that join a run have the texts that %s lists',
  async (version) => {
    for (const scenario of ['second-prompt', 'second-prompt-tool']) {
      const { bytes, truth } = readRecording({ version, scenario })
      const [reply] = await replay(bytes)
      const ids = reply?.promptIDs ?? []
      expect(ids.length).toBeGreaterThan(1)
      expect(reply && ids.map((id) => promptOf(reply, id)?.text)).toEqual(ids.map((id) => textIn(truth.sessions, id)))
      expect(Object.keys(reply?.joinedPrompts ?? {})).toEqual(ids.slice(1))
    }
  },
)

test.each(recordedVersions)(
  'the prompt of a command that starts a sub-agent is the task of the sub-agent, on %s',
  async (version) => {
    const [reply] = await replay(readRecording({ version, scenario: 'command-subtask' }).bytes)
    expect(reply?.prompt?.text).toBe('Survey the land. [scenario:command-subtask/child]')
  },
)

/** The text of a message as its server listed it: in its parts, or beside its id on OpenCode 2. Undefined if it lists none. */
function textIn(value: unknown, id: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if ('id' in value && value.id === id && 'text' in value) return value.text
  if ('messageID' in value && value.messageID === id && 'text' in value) return value.text
  for (const inner of Object.values(value)) {
    const text = textIn(inner, id)
    if (text !== undefined) return text
  }
  return undefined
}
