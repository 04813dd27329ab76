import { diff, emptyReply, observerOf, type Reply, reasoningOf, replay, textOf, toolsOf } from '@reply/core'
import { createThoughtReader, type Thought, type ThoughtOf, type ThoughtType } from '@reply/core/thoughts'
import { listRecordings, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'

/** What people or the server take back was said before. */
const takenBack = ['revert', 'revert-committed', 'part-removed']

const recordings = [
  ...listRecordings().filter(({ version }) => version === '1.1.65' || version === '1.18.33'),
  ...listRecordings({ generation: 2 }),
]

interface Told {
  readonly reply: Reply
  readonly thoughts: readonly Thought[]
}

/** The settled replies of a recording, with the thoughts of each as they came. */
async function play(recording: { readonly version: string; readonly scenario: string }): Promise<readonly Told[]> {
  const told: { thoughts: Thought[] }[] = []
  const { bytes } = readRecording(recording)
  const replies = await replay(bytes, {
    observe: () => {
      const read = createThoughtReader()
      const thoughts: Thought[] = []
      told.push({ thoughts })
      return [observerOf((change) => thoughts.push(...read(change)))]
    },
  })
  return replies.map((reply, at) => ({ reply, thoughts: told[at]?.thoughts ?? [] }))
}

test.each(recordings)('the thoughts of $version/$scenario are what the reply holds', async (recording) => {
  for (const { reply, thoughts } of await play(recording)) {
    if (!takenBack.includes(recording.scenario)) {
      expectEnd(textIn(thoughts, 'message'), textOf(reply))
      expectEnd(textIn(thoughts, 'thought'), reasoningOf(reply))
    }
    expectPaired(thoughts)
    const read = createThoughtReader()
    const late = diff(emptyReply(reply.sessionID), reply).flatMap(read)
    expect(textIn(late, 'message')).toBe(textOf(reply))
    expect(textIn(late, 'thought')).toBe(reasoningOf(reply))
    expectPaired(late)
    const calls = toolsOf(reply)
    expect(only(late, 'tool_start').map(({ id }) => id)).toEqual(calls.map(({ id }) => id))
    for (const { id, state } of calls) {
      const status = state.status === 'completed' ? 'completed' : 'failed'
      const done = { type: 'tool_done', id, status }
      expect(thoughts).toContainEqual(done)
      expect(late).toContainEqual(done)
    }
    expect(only(late, 'plan').flatMap(({ entries }) => entries.map(({ content }) => content))).toEqual(
      reply.todos.map(({ content }) => content),
    )
  }
})

test('the recordings show every type of event', async () => {
  const seen = new Set<ThoughtType>()
  for (const scenario of ['tools-todos', 'reasoning-text'])
    for (const { thoughts } of await play({ version: '1.18.33', scenario }))
      for (const { type } of thoughts) seen.add(type)
  expect([...seen].toSorted()).toEqual(['message', 'plan', 'thought', 'tool_done', 'tool_start', 'tool_update'])
})

function only<T extends ThoughtType>(thoughts: readonly Thought[], type: T): readonly ThoughtOf<T>[] {
  return thoughts.filter((thought): thought is ThoughtOf<T> => thought.type === type)
}

function textIn(thoughts: readonly Thought[], type: 'message' | 'thought'): string {
  return only(thoughts, type)
    .map(({ text }) => text)
    .join('')
}

/** A step that was retried took its text back: what replaced it follows after a blank line. */
function expectEnd(said: string, text: string): void {
  if (said !== text)
    expect(said.endsWith(`\n\n${text}`), `${JSON.stringify(said)} ends with ${JSON.stringify(text)}`).toBe(true)
}

/** Each call starts once and is done once, and what happens to it happens in between. */
function expectPaired(thoughts: readonly Thought[]): void {
  const open = new Set<string>()
  for (const thought of thoughts) {
    if ('text' in thought) expect(thought.text).not.toBe('')
    if (thought.type === 'tool_start') {
      expect(open).not.toContain(thought.id)
      open.add(thought.id)
    } else if ('id' in thought) expect(open).toContain(thought.id)
    if (thought.type === 'tool_done') open.delete(thought.id)
  }
  expect([...open]).toEqual([])
  const starts = only(thoughts, 'tool_start').map(({ id }) => id)
  expect(starts).toHaveLength(new Set(starts).size)
}
