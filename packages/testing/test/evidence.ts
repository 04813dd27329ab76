import { atLeast } from '../src/config.ts'
import type { Recording } from '../src/index.ts'

export interface Frame {
  readonly type: string
  readonly properties: unknown
}

/** What a test looks at: the frames without the wrapping of the global stream, and the server's answer. */
export interface Evidence extends Recording {
  readonly frames: readonly Frame[]
}

export const evidenceOf = (recording: Recording): Evidence => {
  const lines = Buffer.from(recording.bytes).toString('utf8').split('\n')
  const frames = lines
    .filter((line) => line.startsWith('data:') && line.endsWith('}'))
    .map((line) => JSON.parse(line.slice(5)) as Frame & { payload?: Frame; data?: unknown })
    .map(({ payload, data, ...frame }) => payload ?? (data === undefined ? frame : { ...frame, properties: data }))
  return { ...recording, frames }
}

/** Undefined when a recording shows what it should, else what it lacks. */
export type Clue = (evidence: Evidence) => string | undefined

const fits = (type: string, words: readonly string[]) => (frame: Frame) => {
  if (frame.type !== type) return false
  const said = JSON.stringify(frame.properties)
  return words.every((word) => said.includes(word))
}

/** An event of this type with all of these words in it. */
export const event =
  (type: string, ...words: readonly string[]): Clue =>
  ({ frames }) =>
    frames.some(fits(type, words)) ? undefined : `no ${type} with ${words.join(', ')}`

export const events =
  (count: number, type: string, ...words: readonly string[]): Clue =>
  ({ frames }) => {
    const found = frames.filter(fits(type, words)).length
    return found === count ? undefined : `${found} and not ${count} × ${type} with ${words.join(', ')}`
  }

export const noEvent = (type: string, ...words: readonly string[]): Clue => events(0, type, ...words)

/** The first event like the one comes before the first like the other. */
export const before =
  (first: readonly [string, ...string[]], second: readonly [string, ...string[]]): Clue =>
  ({ frames }) => {
    const at = ([type, ...words]: readonly [string, ...string[]]) => frames.findIndex(fits(type, words))
    return at(first) !== -1 && at(first) < at(second)
      ? undefined
      : `${first.join(' ')} is not before ${second.join(' ')}`
  }

/** Words that the server has in a message of some session in the end. */
export const kept =
  (...words: readonly string[]): Clue =>
  ({ truth }) => {
    const said = JSON.stringify(Object.values(truth.sessions).map((session) => session.messages))
    const lacking = words.filter((word) => !said.includes(JSON.stringify(word).slice(1, -1)))
    return lacking.length === 0 ? undefined : `the server has no ${lacking.join(', ')}`
  }

export const notKept =
  (words: string): Clue =>
  (evidence) =>
    kept(words)(evidence) === undefined ? `the server has ${words}` : undefined

export const sessions =
  (count: number): Clue =>
  ({ truth }) => {
    const found = Object.keys(truth.sessions).length
    return found === count ? undefined : `${found} sessions and not ${count}`
  }

/** A clue that only servers from, or before, a version give. */
export const since =
  (version: string, clue: Clue): Clue =>
  (evidence) =>
    atLeast(evidence.version, version) ? clue(evidence) : undefined

export const until =
  (version: string, clue: Clue): Clue =>
  (evidence) =>
    atLeast(evidence.version, version) ? undefined : clue(evidence)
