import { quotable, SafeError } from '@reply/sink/channel'

/** A body of `POST /{phone number id}/messages`, under the Cloud API's names. */
export type CloudMessage = Readonly<Record<string, unknown>>

/** A file to upload. */
export interface CloudMedia {
  /** The file's name. */
  readonly name: string
  /** Its MIME type: `text/plain`. */
  readonly mediaType: string
  /** Its content, UTF-8 once sent. */
  readonly text: string
}

/** The result of a call. */
export interface CloudPosted {
  /** The `wamid`, if a message was posted. */
  readonly id: string | undefined
  /**
   * When Meta answered, by its clock, in ms since the epoch: the `Date` header, in whole seconds. The body has no time.
   * Absent without that header: the sink then uses its own clock.
   */
  readonly at?: number | undefined
}

/**
 * A Cloud API client for one phone number, as `createCloudClient` makes it. Sinks on one client share its rate limits.
 */
export interface CloudClient {
  /** The Cloud API's id of the number to write from. */
  readonly phoneNumberId: string
  /** Posts a message, marks one as read, or shows typing. Rejects with a `CloudError`, or as `fetch` does. */
  messages(message: CloudMessage, signal: AbortSignal): Promise<CloudPosted>
  /** Uploads a file. Resolves with the media id for a document message. */
  media(media: CloudMedia, signal: AbortSignal): Promise<string>
  /**
   * Resolves when Meta answers; the sink calls it before it repeats a post without a result. Absent: it is repeated after
   * a second, also during an outage.
   */
  ping?(signal: AbortSignal): Promise<void>
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
