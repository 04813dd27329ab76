/** The Cloud API's error response. It never leaves the fake: a client sees its fields on the wire. */
export class CloudRefusal extends Error {
  override readonly name = 'CloudRefusal'
  readonly status: number
  readonly code: number
  readonly details: string

  constructor(
    code: number,
    message: string,
    { status = 400, details = '' }: { status?: number; details?: string } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

/** The refusal of a field that the Cloud API doesn't accept, with these details. */
export const invalidParameter = (details: string): CloudRefusal =>
  new CloudRefusal(131009, '(#131009) Parameter value is not valid', { details })

/** Meta's titles for its error codes. */
export const titles: Readonly<Record<number, string>> = {
  4: 'Application request limit reached',
  100: 'Invalid parameter',
  190: 'Access token has expired',
  130429: 'Rate limit hit',
  131000: 'Something went wrong',
  131026: 'Message undeliverable',
  131030: 'Recipient phone number not in allowed list',
  131047: 'Re-engagement message',
  131053: 'Media upload error',
  131056: '(Business Account, Consumer Account) pair rate limit hit',
}
