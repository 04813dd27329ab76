import { type Clock, type ReplyStream, systemClock } from '@reply/core'
import { createReader, eventStreamHeaders, type Feed, withClock } from '@reply/core/internal'
import type { UIChunk, UIChunk7 } from './chunk.ts'
import { createUIProjection, type UIProjection, type UIProjectionOptions } from './project/projection.ts'

/** Options of `toUIMessageStream`. */
export interface UIStreamOptions extends UIProjectionOptions {
  /** The version of the AI SDK that reads the stream, `ai` in the page's dependencies. Default 6. */
  readonly version?: 6 | 7 | undefined
}

/** Options of `toUIMessageResponse`. */
export interface UIResponseOptions extends UIStreamOptions {
  /** More headers of the response. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** How often a stream that has nothing to say sends a comment, in ms, because proxies close silent ones. Default: 5,000. */
  readonly beatMs?: number | undefined
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined
}

/**
 * Returns a reply as a UI message stream of the AI SDK. Each read gets what its reader lacks of the newest state, so a slow
 * reader skips states and nothing is stored for it. Canceling the stream doesn't stop the reply.
 */
export function toUIMessageStream(
  stream: ReplyStream,
  options?: UIStreamOptions & { readonly version?: 6 | undefined },
): ReadableStream<UIChunk>
/** The same for version 7, which has more chunks. */
export function toUIMessageStream(stream: ReplyStream, options: UIStreamOptions): ReadableStream<UIChunk7>
export function toUIMessageStream(stream: ReplyStream, options: UIStreamOptions = {}): ReadableStream<UIChunk7> {
  const feed = feedOf(stream)
  const projection = projectionOf(feed, options)
  let wake = (): void => {}
  let isLeft = false
  const stop = feed.follow(() => wake())
  const leave = (): void => {
    isLeft = true
    stop()
    wake()
  }
  const pull = async (controller: ReadableStreamDefaultController<UIChunk7>): Promise<void> => {
    while (!isLeft) {
      const chunks = feed.newest ? projection.next(feed.newest, systemClock.now()) : []
      for (const chunk of chunks) controller.enqueue(chunk)
      if (projection.ended) {
        leave()
        controller.close()
      }
      if (chunks.length > 0) return
      if (!isLeft)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
  }
  // Nothing is computed before it is read.
  return new ReadableStream<UIChunk7>({ pull, cancel: leave }, { highWaterMark: 0 })
}

/** Returns a projection that also ends if the program leaves the reply. */
function projectionOf(feed: StreamFeed, options: UIStreamOptions): UIProjection<UIChunk7> {
  const projection = createUIProjection(options)
  return {
    next: projection.next,
    get ended() {
      return projection.ended || feed.hasEnded
    },
  }
}

/** The states of one stream, for all of its readers. */
interface StreamFeed extends Feed {
  /** Whether no more will come. */
  readonly hasEnded: boolean
}

const feeds = new WeakMap<ReplyStream, StreamFeed>()

/** One iterator for all readers of a stream: a queue for each of them would hold each change as often as it is read. */
function feedOf(stream: ReplyStream): StreamFeed {
  const known = feeds.get(stream)
  if (known) return known
  const listeners = new Set<() => void>()
  let hasEnded = false
  let iterator: ReturnType<ReplyStream[typeof Symbol.asyncIterator]> | undefined
  const read = async (): Promise<void> => {
    const own = stream[Symbol.asyncIterator]()
    iterator = own
    for (let change = await own.next(); iterator === own; change = await own.next()) {
      hasEnded = change.done === true
      for (const listener of [...listeners]) listener()
      if (hasEnded) return
    }
  }
  const feed: StreamFeed = {
    get newest() {
      return stream.reply
    },
    get hasEnded() {
      return hasEnded
    },
    follow: (listener) => {
      listeners.add(listener)
      if (listeners.size === 1 && !hasEnded) void read()
      return () => {
        if (!listeners.delete(listener) || listeners.size > 0) return
        const own = iterator
        iterator = undefined
        void own?.return?.()
      }
    },
  }
  feeds.set(stream, feed)
  return feed
}

/** Headers of a response that a front end of the AI SDK takes for a UI message stream. */
export const streamHeaders = {
  ...eventStreamHeaders,
  // As in `UI_MESSAGE_STREAM_HEADERS` of the AI SDK.
  'x-vercel-ai-ui-message-stream': 'v1',
} as const

/** Returns a reply as the response to `useChat`: server-sent events, and `[DONE]` at the end. Leaving it doesn't stop the reply. */
export function toUIMessageResponse(stream: ReplyStream, options: UIResponseOptions = {}): Response {
  const { headers, beatMs = 5000, clock = systemClock } = options
  const feed = feedOf(stream)
  const body = createReader({
    feed,
    projection: withClock(projectionOf(feed, options), clock),
    end: 'data: [DONE]\n\n',
    signal: new AbortController().signal,
    onBeat: (run) => every(clock, beatMs, run),
    onEnd: () => {},
  })
  return new Response(body, { headers: { ...streamHeaders, ...headers } })
}

/** Calls the function again and again. Returns a function that stops that. */
function every(clock: Clock, ms: number, run: () => void): () => void {
  let stop = (): void => {}
  const again = (): void => {
    stop = clock.after(ms, again)
    run()
  }
  stop = clock.after(ms, again)
  return () => stop()
}
