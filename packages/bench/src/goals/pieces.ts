import { checkOf, createUtf8Reader, emptyCells, withCell } from '@reply/core/internal'
import type { Effort, Goal } from '../goal.ts'
import { race } from '../rounds.ts'
import { recordedStreams } from '../stream/recorded.ts'
import { recordedShapes, type Schema } from '../stream/recorded-shapes.ts'

/** Code that saves less than this is not worth keeping beside the plain way. */
const bound = { atLeast: 1.3 }

/** Code that replaces a plainer way only because it is faster. */
export const pieceGoals: readonly Goal[] = [
  {
    id: 'pieces.check',
    what: 'checking the shapes of all recorded events, against safeParse of zod',
    unit: '× as fast',
    bound,
    measure: raceSafeParse,
  },
  {
    id: 'pieces.cells',
    what: 'changing each of 1,000 sessions in turn while older states stay, against copying a Map',
    unit: '× as fast',
    bound,
    measure: raceMap,
  },
  {
    id: 'pieces.utf8',
    what: 'decoding the text of all recordings in 1,400-byte chunks, against a streaming TextDecoder',
    unit: '× as fast',
    bound,
    measure: raceTextDecoder,
  },
]

/**
 * Resolves with zod's time for all recorded events, as a multiple of our check's. A value that the check doesn't know
 * goes to zod, as in the decoder. Rejects if a value doesn't fit its schema.
 */
function raceSafeParse(effort: Effort): Promise<number> {
  const checks = new Map<Schema, ReturnType<typeof checkOf>>()
  const shapes = recordedShapes().map(({ value, schema }) => {
    const fits = checks.get(schema) ?? checkOf(schema)
    checks.set(schema, fits)
    return { value, schema, fits }
  })
  const fails = (): never => {
    throw new Error('A recorded event does not fit its schema.')
  }
  return race(
    () => {
      for (const { value, schema, fits } of shapes) if (!fits(value) && !schema.safeParse(value).success) fails()
    },
    () => {
      for (const { value, schema } of shapes) if (!schema.safeParse(value).success) fails()
    },
    effort,
  )
}

/** Resolves with the time of copying a Map for each change, as a multiple of our cells'. */
function raceMap(effort: Effort): Promise<number> {
  const ids = Array.from({ length: 1000 }, (_, at) => `ses_1fd2${(at + 0x10000000).toString(16)}${at * 7919}`)
  const values = ids.map((id) => ({ id }))
  let cells = emptyCells<{ readonly id: string }>()
  for (const value of values) cells = withCell(cells, value)
  let map: ReadonlyMap<string, { readonly id: string }> = new Map(values.map((value) => [value.id, value]))
  return race(
    () => {
      for (const id of ids) cells = withCell(cells, { id })
    },
    () => {
      for (const id of ids) map = new Map(map).set(id, { id })
    },
    effort,
  )
}

/**
 * Resolves with the time of a streaming `TextDecoder`, as a multiple of our reader's. Rejects if their texts differ in
 * length.
 */
function raceTextDecoder(effort: Effort): Promise<number> {
  const streams = recordedStreams(1400)
  let ours = 0
  let plain = 0
  return race(
    () => {
      ours = 0
      for (const chunks of streams) {
        const utf8 = createUtf8Reader()
        for (const chunk of chunks) ours += utf8.read(chunk).length
      }
    },
    () => {
      plain = 0
      for (const chunks of streams) {
        const utf8 = new TextDecoder()
        for (const chunk of chunks) plain += utf8.decode(chunk, { stream: true }).length
      }
      if (plain !== ours) throw new Error('The two decoders read texts of different lengths.')
    },
    effort,
  )
}
