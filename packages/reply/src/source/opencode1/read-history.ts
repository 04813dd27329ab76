import type { OnError } from '../../error.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { MessageRead, Reach } from '../port.ts'
import { reaches } from '../reaches.ts'
import { toReadMessages } from './decode/rest.ts'
import type { Rest } from './rest.ts'

export interface History {
  /** In the server's order. */
  readonly messages: readonly MessageRead[]
  /** Whether it has all messages of the session. */
  readonly isWhole: boolean
}

export interface HistoryOptions {
  readonly rest: Pick<Rest, 'messages'>
  readonly onError: OnError
}

/** Most runs have fewer messages. */
const firstPage = 20

/** A page of this size parses in a few milliseconds. */
const largestPage = 160

/** Messages decoded per batch; other work can run between batches. */
const slice = 100

/**
 * Reads a session's newest messages, back to the beginning of the last run, or of the run that `reach` asks for. Uses
 * pages from 1.2 on. Older servers only take a limit, so this asks again with a larger one.
 */
export async function readHistory(
  { rest, onError }: HistoryOptions,
  place: SessionRef,
  reach: Reach,
): Promise<History> {
  let messages: readonly MessageRead[] = []
  let limit = firstPage
  let before: string | undefined
  for (;;) {
    const page = await rest.messages(place, { limit, before })
    const read = await decoded(page.data, onError)
    const { next } = page
    messages = before === undefined ? read : [...read, ...messages]
    const isLast = next === undefined && (before !== undefined || lengthOf(page.data) !== limit)
    if (isLast || (next === before && next !== undefined)) return { messages, isWhole: true }
    if (reaches(messages, reach)) return { messages, isWhole: false }
    limit = next === undefined ? limit * 4 : Math.min(2 * limit, largestPage)
    before = next
  }
}

async function decoded(data: unknown, onError: OnError): Promise<readonly MessageRead[]> {
  if (!Array.isArray(data) || data.length <= slice) return toReadMessages(data, onError)
  const read: (readonly MessageRead[])[] = []
  for (let at = 0; at < data.length; at += slice) {
    if (at > 0) await new Promise((resolve) => setTimeout(resolve, 0))
    read.push(toReadMessages(data.slice(at, at + slice), onError))
  }
  return read.flat()
}

function lengthOf(data: unknown): number {
  return Array.isArray(data) ? data.length : 0
}
