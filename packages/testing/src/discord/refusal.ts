import type { Fields } from '../fields.ts'
/** Discord's error response. It never leaves the fake: a client sees its fields on the wire. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly code: number
  /** For an invalid form: the errors by field. */
  readonly errors: Fields | undefined

  constructor(status: number, code: number, message: string, errors?: Fields) {
    super(message)
    this.status = status
    this.code = code
    this.errors = errors
  }
}

/** A 400 with code 50035, and the error inside objects by its path: `content`, or `components.0.components.1.label`. */
export function invalidForm(path: string, code: string, message: string): Refusal {
  const errors = path.split('.').reduceRight<Fields>((inner, key) => ({ [key]: inner }), {
    _errors: [{ code, message }],
  })
  return new Refusal(400, 50035, 'Invalid Form Body', errors)
}

/** For a text or a list that is longer than `most`. */
export const tooLong = (path: string, most: number): Refusal =>
  invalidForm(path, 'BASE_TYPE_MAX_LENGTH', `Must be ${most} or fewer in length.`)

export const refusals = {
  unauthorized: () => new Refusal(401, 0, '401: Unauthorized'),
  notFound: () => new Refusal(404, 0, '404: Not Found'),
  unknownChannel: () => new Refusal(404, 10003, 'Unknown Channel'),
  unknownMessage: () => new Refusal(404, 10008, 'Unknown Message'),
  unknownEmoji: () => new Refusal(400, 10014, 'Unknown Emoji'),
  unknownWebhook: () => new Refusal(404, 10015, 'Unknown Webhook'),
  unknownInteraction: () => new Refusal(404, 10062, 'Unknown interaction'),
  tooManyLate: () =>
    new Refusal(403, 30046, 'Maximum number of edits to messages older than 1 hour reached. Try again later'),
  acknowledged: () => new Refusal(400, 40060, 'Interaction has already been acknowledged.'),
  missingAccess: () => new Refusal(403, 50001, 'Missing Access'),
  anotherAuthor: () => new Refusal(403, 50005, 'Cannot edit a message authored by another user'),
  empty: () => new Refusal(400, 50006, 'Cannot send an empty message'),
  missingPermissions: () => new Refusal(403, 50013, 'Missing Permissions'),
  wrongChannel: () => new Refusal(400, 50024, 'Cannot execute action on this channel type'),
  archived: () => new Refusal(400, 50083, 'Thread is archived'),
  hasThread: () => new Refusal(400, 160004, 'A thread has already been created for this message'),
} as const satisfies Record<string, () => Refusal>
