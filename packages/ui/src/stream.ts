import { type Clock, type ReplyStream, systemClock } from '@reply/core'
import { eventStreamHeaders } from '@reply/core/internal'
import type { UIChunk, UIChunk7 } from './chunk.ts'
import { createUIProjection, type UIProjectionOptions } from './project/projection.ts'

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
/** The same for version 7, whose chunks are more. */
export function toUIMessageStream(stream: ReplyStream, options: UIStreamOptions): ReadableStream<UIChunk7>
export function toUIMessageStream(stream: ReplyStream, options: UIStreamOptions = {}): ReadableStream<UIChunk7> {
  const projection = createUIProjection(options)
  const feed = feedOf(stream)
  feed.enter()
  let isOver = false
  const leave = (): void => {
    if (!isOver) feed.leave()
    isOver = true
  }
  const pull = async (controller: ReadableStreamDefaultController<UIChunk7>): Promise<void> => {
    while (!isOver) {
      // Read before the state, so that no later change is missed.
      const { hasEnded, changed } = feed.state()
      const chunks = stream.reply ? projection.next(stream.reply) : []
      for (const chunk of chunks) controller.enqueue(chunk)
      if (projection.ended || hasEnded) {
        leave()
        controller.close()
      } else if (chunks.length > 0) return
      else await changed
    }
  }
  // Nothing is computed before it is read.
  return new ReadableStream<UIChunk7>({ pull, cancel: leave }, { highWaterMark: 0 })
}

/** The changes of one stream, for all who read it. */
interface Feed {
  /** Whether the stream has ended, and a promise of the next change. */
  state(): { readonly hasEnded: boolean; readonly changed: Promise<void> }
  /** Follows the stream until as many have left as entered. */
  enter(): void
  leave(): void
}

const feeds = new WeakMap<ReplyStream, Feed>()

/** One iterator for all readers of a stream: a queue for each of them would hold each change as often as it is read. */
function feedOf(stream: ReplyStream): Feed {
  const known = feeds.get(stream)
  if (known) return known
  let readers = 0
  let hasEnded = false
  let wake = (): void => {}
  let changed = new Promise<void>((resolve) => {
    wake = resolve
  })
  let iterator: ReturnType<ReplyStream[typeof Symbol.asyncIterator]> | undefined
  const follow = async (): Promise<void> => {
    const own = stream[Symbol.asyncIterator]()
    iterator = own
    for (let read = await own.next(); iterator === own; read = await own.next()) {
      if (read.done) hasEnded = true
      wake()
      if (read.done) return
      changed = new Promise((resolve) => {
        wake = resolve
      })
    }
  }
  const feed: Feed = {
    state: () => ({ hasEnded, changed }),
    enter: () => {
      readers += 1
      if (readers === 1 && !hasEnded) void follow()
    },
    leave: () => {
      readers -= 1
      if (readers > 0) return
      const own = iterator
      iterator = undefined
      void own?.return?.()
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
  const chunks = toUIMessageStream(stream, options).getReader()
  const encoder = new TextEncoder()
  let stop = (): void => {}
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const beat = (): void => {
        // A reader that has yet to read needs no sign of life.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(':\n\n'))
        stop = clock.after(beatMs, beat)
      }
      stop = clock.after(beatMs, beat)
    },
    pull: async (controller) => {
      const { done, value } = await chunks.read()
      controller.enqueue(encoder.encode(done ? 'data: [DONE]\n\n' : `data: ${JSON.stringify(value)}\n\n`))
      if (!done) return
      stop()
      controller.close()
    },
    cancel: async () => {
      stop()
      await chunks.cancel()
    },
  })
  return new Response(body, { headers: { ...streamHeaders, ...headers } })
}
