/** A body of `POST /{phone number id}/messages`, in the Cloud API's own names. */
export type CloudMessage = Readonly<Record<string, unknown>>

/** A file on its way to the Cloud API. */
export interface CloudMedia {
  readonly name: string
  readonly mediaType: string
  readonly text: string
}

/** What became of a call. */
export interface CloudPosted {
  /** The `wamid`, if a message was made. */
  readonly id: string | undefined
  /**
   * When Meta answered, by its clock, in ms since the epoch: the `Date` header, which counts whole seconds. The body tells no time.
   * Absent without that header: the sink then goes by its own clock.
   */
  readonly at?: number | undefined
}

/** Who calls the Cloud API for one phone number. `createCloudClient` makes one; sinks on one client share its pace. */
export interface CloudClient {
  /** The number that it writes from, as the Cloud API names it. */
  readonly phoneNumberId: string
  /** Posts a message, marks one as read, types. Rejects with a `CloudError`, or as `fetch` does. */
  messages(message: CloudMessage, signal: AbortSignal): Promise<CloudPosted>
  /** Resolves with the id that a document is sent by. */
  media(media: CloudMedia, signal: AbortSignal): Promise<string>
}

/** An answer of the Cloud API that refuses. It carries no token. */
export class CloudError extends Error {
  override readonly name = 'CloudError'
  /** Of HTTP. */
  readonly status: number
  /** As Meta numbers its errors. Undefined when the answer was none of the Cloud API's. */
  readonly code: number | undefined
  /** What it says beside its message. */
  readonly details: string

  constructor(
    message: string,
    {
      status,
      code,
      details = '',
    }: { readonly status: number; readonly code?: number | undefined; readonly details?: string | undefined },
  ) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}
