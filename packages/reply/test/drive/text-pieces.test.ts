import { describe, expect, test } from 'vitest'
import { createTextPieces } from '../../src/drive/runs/reply-stream.ts'
import { emptyReply, emptyTrack, type Reply, type ReplyEvent, reduce, textOf, track } from '../../src/index.ts'
import { createRecordingReader } from '../../src/recording/read-recording.ts'
import { message, reasoning, root, text } from '../make.ts'
import { recorded } from '../recorded.ts'

/** The pieces of a reply that these events make. */
function piecesOf(...events: readonly ReplyEvent[]): readonly string[] {
  const pieceOf = createTextPieces()
  let reply: Reply = emptyReply(root)
  return events.map((event) => {
    if ('sessionID' in event) reply = reduce(reply, event).reply
    return pieceOf(reply)
  })
}

test('a text is given as it grows, without white space that may still be trimmed', () => {
  const pieces = piecesOf(
    message('m1'),
    text('m1', 'Hi '),
    text('m1', 'Hi the'),
    text('m1', 'Hi the', { status: 'sealed' }),
  )
  expect(pieces).toEqual(['', 'Hi', ' the', ''])
})

test('a part waits until the one before it is closed', () => {
  const second = { id: 'm1.second' }
  const pieces = piecesOf(
    message('m1'),
    reasoning('m1', 'Hm.'),
    text('m1', 'Hel'),
    text('m1', 'Wor', second),
    text('m1', 'Hello'),
    text('m1', 'World', second),
    text('m1', 'Hello', { status: 'sealed' }),
  )
  expect(pieces).toEqual(['', '', 'Hel', '', 'lo', '', '\n\nWorld'])
})

test('a text that is replaced follows anew', () => {
  expect(piecesOf(message('m1'), text('m1', 'Red'), text('m1', 'Blue'))).toEqual(['', 'Red', '\n\nBlue'])
})

/** What people undo was said before. */
const undone = ['revert', 'part-removed']
const played = recorded
  .filter(({ name, version }) => version === '1.18.33' && !name.endsWith('global'))
  .filter(({ scenario }) => !undone.includes(scenario))

describe('the pieces of each reply', () => {
  test.each(played)('of $name make its text', ({ read }) => {
    const reader = createRecordingReader()
    const runs = new Map<string, { readonly pieceOf: (reply: Reply) => string; pieces: string; reply: Reply }>()
    let state = emptyTrack()
    for (const event of [...reader.push(read().bytes), ...reader.end()]) {
      const tracked = track(state, event)
      state = tracked.state
      for (const { reply, run } of tracked.steps) {
        const key = `${reply.sessionID} ${run}`
        const known = runs.get(key) ?? { pieceOf: createTextPieces(), pieces: '', reply }
        runs.set(key, { ...known, pieces: known.pieces + known.pieceOf(reply), reply })
      }
    }
    for (const { pieces, reply } of runs.values()) {
      if (reply.phase === 'settled') expect(withoutTakenBack(pieces, textOf(reply))).toBe(textOf(reply))
    }
  })
})

/** What the server removed later was said before. */
function withoutTakenBack(pieces: string, whole: string): string {
  return pieces.endsWith(`\n\n${whole}`) ? whole : pieces
}
