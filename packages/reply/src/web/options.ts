import type { Clock } from '../clock.ts'
import type { PromptInput } from '../source/input.ts'

/** A session that a request may use, and how its prompts run. All fields are the host's, none is the browser's. */
export interface WebSession
  extends Pick<PromptInput, 'sessionID' | 'title' | 'agent' | 'model' | 'variant' | 'guarded' | 'system' | 'tools'> {
  /**
   * Called with the id of the new session if there is no `sessionID`, and awaited before the prompt is posted. Store the id,
   * so that `sessionOf` finds it from then on. If it throws or rejects, nothing is posted.
   */
  readonly onCreated?: ((sessionID: string) => unknown) | undefined
}

/** The limits of a handler of web requests. */
export interface WebHandlerOptions {
  /**
   * Origins of pages that may send requests, besides the handler's own, for example `https://app.example`. Others are refused
   * with 403. The headers that such a page needs (CORS) are your framework's. Default: none.
   */
  readonly allowedOrigins?: readonly string[] | undefined
  /**
   * The largest body of a POST, in bytes. A larger one is refused with 413. Clients send the conversation, or a part of it, each time.
   * Default: 8 MiB.
   */
  readonly maxBodyBytes?: number | undefined
  /** How many streams a client may have open at the same time. More are refused with 429. Default: 16. */
  readonly maxStreams?: number | undefined
  /**
   * Names the client that a stream counts for, for example by the person's id. Default: the session, so that all of its readers
   * count together.
   */
  readonly clientOf?: ((request: Request) => string) | undefined
  /** How often a stream that has nothing to say sends a comment, in ms, because proxies close silent ones. Default: 5,000. */
  readonly beatMs?: number | undefined
  /** Receives what went wrong on this side. The browser gets a sentence without it. Default: nothing is reported. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Provides the timers. Default: `systemClock`. */
  readonly clock?: Clock | undefined
}

/** Answers web requests. */
export interface WebHandler {
  /** Resolves with the response. Never rejects. */
  (request: Request): Promise<Response>
  /** Ends all streams, and refuses later requests with 503. The runs go on. Call it when your server stops. */
  close(): void
}
