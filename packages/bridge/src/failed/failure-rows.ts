import type { Button } from '@reply/sink/channel'
import { type ChatPlace, placeKey } from '../place.ts'
import { type Failure, faultOf, toFailure } from '../state/decode.ts'
import type { Execution } from '../state/execution.ts'
import { undeliveredMs } from '../state/registry.ts'
import type { PutWrite } from '../store/apply-writes.ts'
import type { StoredValue, Write } from '../store/store.ts'
import { texts } from '../texts.ts'

/** The prefix of the keys of all failures. */
export const failedPrefix = 'failed/'

/** The prefix of the keys of a place's failed deliveries. */
export function deliveriesPrefix(place: ChatPlace): string {
  return `${failedPrefix}delivery/${placeKey(place)}/`
}

/**
 * Returns the key under which a failure is stored: that of a delivery by its place and run, any other by its old key, and by
 * its id if it was in a queue.
 */
export function failureKey(failure: Failure): string {
  if (failure.type === 'delivery') return `${deliveriesPrefix(failure)}${failure.id}`
  return `${failedPrefix}${failure.type}/${rowName(failure)}`
}

/** Returns a name for a row that no other has: its key, or the name of its queue with its id. */
export function rowName({ key, id }: { readonly key: string; readonly id?: string | undefined }): string {
  return id === undefined ? key : `${key}/#${id}`
}

/** Returns the write that stores a failure: a row that can't be read without an end, all others for 30 days. */
export function writeFailure(failure: Failure): PutWrite {
  const expires = failure.type === 'row' ? {} : { expiresInMs: undeliveredMs }
  return { type: 'put', key: failureKey(failure), value: JSON.stringify(failure), ...expires }
}

/** Decodes rows below `failedPrefix`, oldest first. A row that can't be decoded is a failure itself. */
export function failuresIn(rows: readonly StoredValue[]): readonly Failure[] {
  return rows.map(failureOf).toSorted((a, b) => a.at - b.at)
}

/** Decodes one row. A row that can't be decoded becomes a failure of type `row` with its key and value, at time 0. */
function failureOf({ key, value }: StoredValue): Failure {
  try {
    return toFailure(value)
  } catch (error) {
    return { type: 'row', key, value, reason: faultOf(error), at: 0 }
  }
}

/** The prefix of the keys of all prompts that may have run. */
export const unknownPrefix = 'unknown/'

/** Returns the key of a prompt that may have run already, by the id of its execution. */
export function unknownRunKey(place: ChatPlace, id: string): string {
  return `${unknownPrefix}${placeKey(place)}/${id}`
}

/**
 * Returns a row of two buttons, to run the prompt again or to leave it. They go below the question that the chat gets if the
 * server can't tell whether the prompt ran.
 */
export function runAgainButtons(id: string): readonly (readonly Button[])[] {
  return [
    [
      { label: texts.runAgain, data: `b/again/${id}` },
      { label: texts.dropIt, data: `b/leave/${id}` },
    ],
  ]
}

/**
 * Returns the write that stores the prompt of an execution until a person decides whether it runs again, at most for 30 days. It
 * conflicts if an earlier process stored it, so that a field that a newer version added is kept.
 */
export function writeUnknownRun({ id, prompt }: Execution): Write {
  return {
    type: 'put-if-absent',
    key: unknownRunKey(prompt, id),
    value: JSON.stringify(prompt),
    expiresInMs: undeliveredMs,
  }
}
