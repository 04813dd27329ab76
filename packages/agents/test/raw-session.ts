import type { ReplyEvent } from '@reply/core'
import type { Source } from '@reply/core/source'
import { expect } from 'vitest'

/** A session of a source without the drive, which would abort a prompt only once it was posted. */
export async function openRaw(source: Source, directory: string) {
  const over = new AbortController()
  const events: ReplyEvent[] = []
  const reading = (async () => {
    for await (const some of source.connect({ directory, signal: over.signal })) events.push(...some)
  })()
  await expect.poll(() => events.length).toBe(1)
  const { sessionID } = await source.create({ directory })
  const place = { sessionID, directory }
  return {
    sessionID,
    prompt: async (text: string) => await source.prompt(place, { text }),
    /** Aborts as soon as a run has begun. */
    abort: async () => {
      // Microtasks alone: Node tells that a process was started in the next tick.
      for (let look = 0; look < 1000 && !(await source.working(directory)).has(sessionID); look++);
      await source.abort(place)
    },
    /** How many runs have ended. */
    ended: () => events.filter((event) => event.type === 'status' && event.status === 'idle').length,
    /** The names of the errors of runs. */
    errors: () => events.flatMap((event) => (event.type === 'message' && event.message.error?.name) || []),
    close: async () => {
      over.abort()
      await reading
      source.close()
    },
  }
}
