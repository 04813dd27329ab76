import { causeOf, type FailureCause, type ReplyErrorType, type ReplyFailure } from '@reply/core'
import { texts } from '@reply/sink'
import { cleanLine } from '../format/sanitize.ts'

// Types of `ReplyError`: their messages say more than their names.
const OWN_NAMES: Readonly<Record<ReplyErrorType, true>> = {
  malformed: true,
  'too-large': true,
  observer: true,
  unreachable: true,
  unauthorized: true,
  refused: true,
  'not-opencode': true,
  gone: true,
  'already-resolved': true,
  'not-stopped': true,
  unsupported: true,
  unguarded: true,
  invalid: true,
  'no-output': true,
  closed: true,
}

/** "Name: message" in one line, without a name that means nothing to people. */
export function errorText(error: ReplyFailure | undefined): string {
  if (error === undefined) return 'the server gave no reason'
  const unknown = unknownSession(error)
  if (unknown !== undefined) return `no session ${unknown} on this server`
  const message = reasonText(error.message)
  if (message === '') return cleanLine(error.name)
  const isMeaningful = error.name !== '' && error.name !== 'UnknownError' && !Object.hasOwn(OWN_NAMES, error.name)
  return isMeaningful ? `${cleanLine(error.name)}: ${message}` : message
}

// A line that begins with "at", or "at name (file:1:2)" if the lines were joined.
const STACK = /\s*\n\s*at\s|\s+at\s(?:[^\s()]+\s){0,4}\([^()\s]*:\d+:\d+\)|\s+at\s[^\s()]*\/[^\s()]*:\d+:\d+/

/** A server's failure message in one line, without the stack that some servers append. */
export function reasonText(message: string): string {
  const stack = message.search(STACK)
  return cleanLine(stack > 0 ? message.slice(0, stack) : message)
}

/** The unknown session, if that is the failure. */
function unknownSession({ name, message }: ReplyFailure): string | undefined {
  return name === 'gone' ? sessionNotFound(message) : undefined
}

/** The id in a server's message about an unknown session. */
export function sessionNotFound(message: string): string | undefined {
  return /Session not found: (ses_\w+|\S+)/.exec(cleanLine(message))?.[1]
}

export const SESSIONS_CURE = '`opencode session list`, run in the project, lists its sessions.'

/** What to do about it, if known. */
export function cureOf(error: ReplyFailure | undefined): string | undefined {
  if (error === undefined) return undefined
  if (unknownSession(error) !== undefined) return SESSIONS_CURE
  const cause = causeOf(error)
  if (cause) return cures[cause]
  return error.retryable ? cures.again : undefined
}

/** The chats' words, with the commands that a terminal can run. */
const cures: Readonly<Record<FailureCause | 'again', string>> = {
  ...texts.cures,
  credentials: 'The provider rejected the API key: renew it (in OpenCode with `opencode auth login`).',
  model: 'Choose a model that the agent offers (`opencode models` lists those of OpenCode).',
}
