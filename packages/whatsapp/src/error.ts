import type { MessageRef } from '@reply/sink'
import {
  ChannelError,
  createToPortError,
  type PortErrorType,
  quotable,
  SafeError,
  typeOfStatus,
} from '@reply/sink/channel'
import { type ChannelErrorType, type ToPortError, typeOfNetworkError } from '@reply/sink/internal'

/**
 * Besides the types of all channels:
 * - `stale`: a message arrived too late and was skipped.
 * - `unauthorized`: the token or the pairing is no longer valid.
 * - `unlinked`: no device is linked yet.
 * - `updates`: the connection failed. The channel reconnects.
 * - `delivery`: WhatsApp accepted a message and reported later that it can't be delivered.
 */
export type WhatsAppErrorType = ChannelErrorType | 'stale' | 'unauthorized' | 'unlinked' | 'updates' | 'delivery'

/** Options of `WhatsAppError`. */
export interface WhatsAppErrorOptions extends ErrorOptions {
  /** With `delivery`: the undelivered message. */
  readonly messageRef?: MessageRef | undefined
}

/** An error of the channel. `invalid` is thrown, the other types go to `onError`. Never contains the token. */
export class WhatsAppError extends ChannelError<WhatsAppErrorType> {
  override readonly name = 'WhatsAppError'
  /** With `delivery`: the undelivered message. */
  readonly messageRef: MessageRef | undefined

  constructor(type: WhatsAppErrorType, message: string, options: WhatsAppErrorOptions = {}) {
    super(type, message, options)
    this.messageRef = options.messageRef
  }
}

/** An error response of the Cloud API. Never contains the token. */
export class CloudError extends SafeError {
  override readonly name = 'CloudError'
  /** The HTTP status. */
  readonly status: number
  /** Meta's error code. Undefined if the response isn't from the Cloud API. */
  readonly code: number | undefined
  /** Meta's details besides the message. */
  readonly details: string

  constructor(
    message: string,
    {
      status,
      code,
      details = '',
    }: { readonly status: number; readonly code?: number | undefined; readonly details?: string | undefined },
  ) {
    // For a malformed token, Meta's message contains the token.
    super(quotable(message))
    this.status = status
    this.code = code
    this.details = quotable(details)
  }
}

/** How the sink treats one of Meta's errors. https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes */
interface Meaning {
  readonly type: PortErrorType
  /** The shortest wait that helps. Meta gives none. */
  readonly retryAfterMs?: number
  readonly scope?: 'chat' | 'client'
  /** Whether it is about the person alone. */
  readonly isOfChat?: boolean
  /** How to fix it. */
  readonly cure?: string
}

/** Meta's code for a message more than 24 h after the person's last one. */
export const windowCode = 131047

const meanings: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [131056, { type: 'rate-limited', retryAfterMs: 6000, scope: 'chat' }],
  [130429, { type: 'rate-limited', retryAfterMs: 5000, scope: 'client' }],
  [131057, { type: 'rate-limited', retryAfterMs: 60_000, scope: 'client' }],
  [80007, { type: 'rate-limited', retryAfterMs: 60_000, scope: 'client' }],
  [4, { type: 'rate-limited', retryAfterMs: 60_000, scope: 'client' }],
  [
    windowCode,
    {
      type: 'refused',
      isOfChat: true,
      cure: 'More than 24 h have passed since this person last wrote. Until they write again, WhatsApp accepts only template messages: send an approved template that asks them to answer, then continue.',
    },
  ],
  [
    131026,
    {
      type: 'refused',
      isOfChat: true,
      cure: "It can't be delivered: the number is not on WhatsApp, its app is too old, or its owner has not accepted WhatsApp's terms or has blocked this number.",
    },
  ],
  [
    131030,
    {
      type: 'refused',
      isOfChat: true,
      cure: "A test number can only write to the numbers listed on its app's page: add this one there.",
    },
  ],
  [
    131048,
    {
      type: 'refused',
      cure: 'Too many messages from this number were blocked or reported: see its quality in the WhatsApp Manager.',
    },
  ],
  [131050, { type: 'refused', isOfChat: true, cure: 'This person has opted out of messages of this kind.' }],
  [131031, { type: 'refused', cure: 'The account is locked: see the WhatsApp Manager.' }],
  [368, { type: 'refused', cure: 'The account is restricted for a violation of policy: see the WhatsApp Manager.' }],
  [
    133010,
    { type: 'refused', cure: 'The number is not registered with the Cloud API: POST /{phone number id}/register.' },
  ],
  [
    190,
    {
      type: 'refused',
      cure: "The token has expired or was revoked: use a system user's token, which does not expire.",
    },
  ],
  [0, { type: 'refused', cure: 'The token was not accepted: create a new one.' }],
  [
    10,
    { type: 'refused', cure: 'The token lacks whatsapp_business_messaging, or the number belongs to another account.' },
  ],
  [2, { type: 'unreachable' }],
  [131000, { type: 'unreachable' }],
  [131016, { type: 'unreachable' }],
  [133004, { type: 'unreachable' }],
])

/** Recognizes length errors by their text: "invalid parameter" has one code for all causes. */
const lengthError = /too long|length|at most|max(?:imum)?[^.]*char|exceed/i

/** Maps a failed call to the sink's error. */
export const toCloudPortError: ToPortError = createToPortError('the Cloud API', (error) => {
  if (!(error instanceof CloudError)) return undefined
  const { code, status, details } = error
  const { cure, ...meaning } = meaningOf(error)
  const failure = [code ?? `HTTP ${status}`, error.message, details].filter((text) => text !== '').join(' ')
  return { ...meaning, reason: [failure, cure].filter(Boolean).join('. '), cause: error }
})

/** Returns how to fix one of Meta's error codes. Undefined for codes without advice. */
export function cureOf(code: number): string | undefined {
  return meanings.get(code)?.cure
}

/**
 * Returns the meaning of an error: by the code if it is known, else by the HTTP status. A rate limit without a known code
 * pauses the client for 5 s. One of Meta's errors about a length is `too-long`.
 */
function meaningOf({ code, status, message, details }: CloudError): Meaning {
  const documented = code === undefined ? undefined : meanings.get(code)
  if (documented) return documented
  const type = typeOfStatus(status)
  // Meta gives no time to wait.
  if (type === 'rate-limited') return { type, retryAfterMs: 5000, scope: 'client' }
  const isLength = code !== undefined && status < 500 && lengthError.test(`${message} ${details}`)
  return { type: isLength ? 'too-long' : type }
}

/** Status codes of Baileys' Boom errors: HTTP's, or its own `DisconnectReason`. */
const boomTypes: ReadonlyMap<number, PortErrorType> = new Map<number, PortErrorType>([
  // The socket is closed: nothing was written to it.
  [428, 'unreachable'],
  [503, 'unreachable'],
  [515, 'unreachable'],
  [440, 'unreachable'],
  [408, 'ambiguous'],
  [429, 'rate-limited'],
  [401, 'refused'],
  [403, 'refused'],
  [404, 'refused'],
  [406, 'refused'],
  [410, 'refused'],
])

/** The status codes of a chat that takes nothing: the account isn't in the group any more, or there is no such chat. */
const closedChat: ReadonlySet<number> = new Set([403, 404, 410])

/** How long to wait after a rate limit, in ms. WhatsApp doesn't say, so this retries as rarely as a person would. */
const rateLimitedMs = 30_000

/** Maps a failed call to the sink's error. */
export const toBaileysPortError: ToPortError = createToPortError('WhatsApp', (error) => {
  const message = error instanceof Error ? error.message : String(error)
  const status = boomStatusOf(error)
  const cure = status === 401 ? '. This device was logged out: link it again with a new login.' : ''
  const reason = `${status === undefined ? '' : `${status} `}${message}${cure}`
  const type = boomTypes.get(status ?? 0) ?? typeOfNetworkError(error)
  const isOfChat = status !== undefined && closedChat.has(status)
  return { type, reason, cause: error, retryAfterMs: rateLimitedMs, scope: 'client', isOfChat }
})

/** Returns the status code of one of Baileys' Boom errors. Undefined for any other value. */
export function boomStatusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('output' in error)) return undefined
  const { output } = error
  if (typeof output !== 'object' || output === null || !('statusCode' in output)) return undefined
  return typeof output.statusCode === 'number' ? output.statusCode : undefined
}
