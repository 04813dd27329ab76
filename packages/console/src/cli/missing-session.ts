import type { ReplyError } from '@reply/core'
import { sessionsCure, unknownSessionIn } from '../view/outcome.ts'
import { ConsoleError } from './error.ts'

/** Notices that the session to watch does not exist. */
export interface MissingSession {
  /** Rejects with `missing` once that is known. Never resolves. */
  readonly rejected: Promise<never>
  /** For `openServer`. */
  readonly onFailure: (error: ReplyError) => boolean
}

/** Creates the check for a session at a server. Without a session, nothing is missing. */
export function missingSession(session: string | undefined, url: string): MissingSession {
  let reject: (error: ConsoleError) => void = () => {}
  const rejected = new Promise<never>((_, refuse) => {
    reject = refuse
  })
  return {
    rejected,
    onFailure: ({ type, message }) => {
      if (type !== 'gone' || session === undefined || unknownSessionIn(message) !== session) return false
      reject(new ConsoleError('missing', `No session ${session} at ${url}. ${sessionsCure}`))
      return true
    },
  }
}
