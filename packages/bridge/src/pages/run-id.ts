import type { ChatPlace } from '../place.ts'
import type { Execution } from '../state/execution.ts'

/** Which run a page shows: its place, and its id there. */
export interface PagedRun {
  readonly place: ChatPlace
  readonly id: string
}

/** Returns the id of a run in the address of its page: letters, digits, `-` and `_`. */
export function pageIDOf({ prompt: { channel, chat }, id }: Pick<Execution, 'prompt' | 'id'>): string {
  const { id: chatID, thread } = chat
  return Buffer.from(JSON.stringify([channel, chatID, id, ...(thread === undefined ? [] : [thread])])).toString(
    'base64url',
  )
}

/** Reads what `pageIDOf` wrote. Undefined for any other text. */
export function runOfPage(pageID: string): PagedRun | undefined {
  const [channel, chatID, id, thread] = listIn(Buffer.from(pageID, 'base64url').toString())
  if (channel === undefined || chatID === undefined || id === undefined) return undefined
  return { place: { channel, chat: { id: chatID, ...(thread !== undefined && { thread }) } }, id }
}

/** Returns the texts of a JSON list. Empty if it is anything else. */
function listIn(json: string): readonly string[] {
  try {
    const list: unknown = JSON.parse(json)
    return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : []
  } catch {
    return []
  }
}
