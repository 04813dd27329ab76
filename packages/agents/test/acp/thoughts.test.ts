import { diff, emptyReply, textOf, toolsOf } from '@reply/core'
import { createThoughtReader, type Thought, thoughtsOf } from '@reply/core/thoughts'
import { expect, test } from 'vitest'
import { play } from './play.ts'
import { replayed } from './replay.ts'
import { scenes } from './scenes.ts'

const recorded = scenes.filter(({ preset }) => !preset)

test.each(recorded)('the thoughts of the recording $name are what the reply holds', async (scene) => {
  const { client } = replayed(scene.name)
  const live: Promise<Thought[]>[] = []
  const watched = {
    ...client,
    prompt: (...given: Parameters<typeof client.prompt>) => {
      const run = client.prompt(...given)
      live.push(all(thoughtsOf(run)))
      return run
    },
  }
  const reply = await play(watched, scene)
  const thoughts = (await Promise.all(live)).at(-1) ?? []
  await client.close()
  const late = diff(emptyReply(reply.sessionID), reply).flatMap(createThoughtReader())
  for (const list of [thoughts, late]) {
    const said = list.map((thought) => (thought.type === 'message' ? thought.text : '')).join('')
    expect(said).toBe(textOf(reply))
    const started = list.flatMap((thought) => (thought.type === 'tool_start' ? [thought.id] : []))
    const done = list.flatMap((thought) => (thought.type === 'tool_done' ? [thought.id] : []))
    expect(started).toEqual(toolsOf(reply).map(({ id }) => id))
    expect(done.toSorted()).toEqual(started.toSorted())
  }
})

async function all(thoughts: AsyncIterable<Thought>): Promise<Thought[]> {
  const list: Thought[] = []
  for await (const thought of thoughts) list.push(thought)
  return list
}
