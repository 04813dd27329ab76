import { answerOf, type Reply, replay, textOf } from '@reply/core'
import { listRecordings, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'
import { clean } from '../src/format/sanitize.ts'
import { consoleSink } from '../src/sink.ts'
import { fakeClock } from './fixture/clock.ts'
import { fakeTerminal } from './fixture/terminal.ts'

/** Shows every root reply on a terminal of its own and returns the final rows. `each`: repaints after every event. */
async function pictures(
  bytes: Uint8Array,
  each: boolean,
  live: boolean,
): Promise<{ reply: Reply; rows: string[]; written: string }[]> {
  const timers = fakeClock()
  // The wording of a retry depends on the time, so the view gets the recording's.
  let now = timers.now()
  const clock = { now: () => now, after: timers.after }
  // Thousands of repaints take long and show nothing new.
  const stride = bytes.length > 200_000 ? 40 : 1
  let events = 0
  const terminals: ReturnType<typeof fakeTerminal>[] = []
  const replies = await replay(bytes, {
    observe() {
      const terminal = fakeTerminal(70, 60)
      terminals.push(terminal)
      return [consoleSink({ stdout: terminal.stdout, clock, live, env: {}, prompt: true, reasoning: true })]
    },
    pace(at) {
      now = Math.max(now, at)
      if (each && events++ % stride === 0) timers.advance(250)
      return undefined
    },
  })
  return Promise.all(
    replies.map(async (reply, index) => {
      const terminal = terminals[index]
      return { reply, rows: (await terminal?.rows()) ?? [], written: terminal?.written() ?? '' }
    }),
  )
}

/** Shows every recording of these versions. */
export function showRecordings(isWanted: (version: string) => boolean): void {
  const recordings = listRecordings().filter(({ version }) => isWanted(version))

  test.each(recordings)(
    '$version $scenario: painted along the way or only at the end, the same stands there',
    async (name) => {
      const { bytes } = readRecording(name)
      const along = await pictures(bytes, true, true)
      const atEnd = await pictures(bytes, false, true)
      for (const [index, { rows }] of along.entries()) {
        // Text that was taken back stays in the scrollback, marked as such; nothing else may differ.
        if (rows.some((row) => row.startsWith('↺'))) continue
        expect(rows).toEqual(atEnd[index]?.rows)
      }
    },
  )

  test.each(recordings)('$version $scenario: a pipe gets the whole text, as it was written', async (name) => {
    const { bytes } = readRecording(name)
    for (const { reply, written } of await pictures(bytes, true, false)) {
      expect(squeezed(written)).toContain(squeezed(clean(answerOf(reply))))
      const shown = squeezed(written)
      for (const line of clean(textOf(reply)).split('\n')) expect(shown).toContain(squeezed(line))
      expect(written).not.toContain('\u001b')
    }
  })
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
