import type { Reply } from '../reply.ts'
import type { Feed } from './feed.ts'
import { reportSafely } from './refusal.ts'

/** Headers of a response with server-sent events, for no cache and no proxy to hold them back. */
export const eventStreamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // Read by nginx.
  'x-accel-buffering': 'no',
} as const

/** Says what one reader lacks, in the chunks of the protocol. */
export interface ReaderProjection<State = Reply> {
  /** Returns the chunks that are new in this state. */
  next(state: State): readonly unknown[]
  /** Whether nothing will be new any more. */
  readonly ended: boolean
}

/** What a response with a stream needs. */
export interface ReaderOptions<State = Reply> {
  readonly feed: Feed<State>
  readonly projection: ReaderProjection<State>
  /** Returns the text of a chunk's event. Default: its JSON as the data of an event without a name. */
  readonly write?: ((chunk: unknown) => string) | undefined
  /** Awaited between two texts, for readers that need no more than some of them a second. Default: no wait. */
  readonly pause?: (() => Promise<void>) | undefined
  /** The text after the last event. Default: none. */
  readonly end?: string | undefined
  /** Ends the stream. */
  readonly signal: AbortSignal
  /** Calls the function every few seconds. Returns a function that stops that. */
  readonly onBeat: (run: () => void) => () => void
  /** Called once, when the stream has ended in any way. */
  readonly onEnd: () => void
  /** Receives what broke the stream. The reader only sees that it ends. Default: nothing is reported. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/**
 * Returns a reply as server-sent events. Each read gets the difference to the newest state, so a slow reader skips
 * states, and nothing is buffered. A comment keeps proxies from closing a stream in which nothing happens for a while.
 */
export function createReader<State = Reply>(options: ReaderOptions<State>): ReadableStream<Uint8Array> {
  const { feed, projection, signal, onBeat, onEnd, end: lastText = '', write = dataEvent } = options
  const encoder = new TextEncoder()
  let hasSent = false
  let hasEnded = false
  let isBeatDue = false
  let wake = (): void => {}
  const stops = [
    feed.follow(() => wake()),
    onBeat(() => {
      isBeatDue = true
      wake()
    }),
  ]
  const end = (): void => {
    if (hasEnded) return
    hasEnded = true
    signal.removeEventListener('abort', leave)
    for (const stop of stops) stop()
    wake()
    onEnd()
  }
  let close = (): void => {}
  const leave = (): void => {
    if (!hasEnded) close()
    end()
  }
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        close = () => controller.close()
        signal.addEventListener('abort', leave)
        if (signal.aborted) leave()
      },
      pull: async (controller) => {
        try {
          if (hasSent) await options.pause?.()
          while (!hasEnded) {
            const text = nextText()
            hasSent = text !== ''
            if (text !== '') controller.enqueue(encoder.encode(text))
            if (projection.ended) leave()
            if (text !== '') return
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
        } catch (error) {
          reportSafely(options.onError, error)
          end()
          throw error
        }
      },
      cancel: end,
    },
    // A chunk is made when it is read, so that it says what is newest then.
    { highWaterMark: 0 },
  )

  /** What to send now. Empty if there is nothing. */
  function nextText(): string {
    const chunks = feed.newest ? projection.next(feed.newest) : []
    const events = chunks.map(write)
    if (projection.ended) events.push(lastText)
    const isQuiet = events.length === 0 && isBeatDue
    isBeatDue = false
    return isQuiet ? ': still here\n\n' : events.join('')
  }
}

function dataEvent(chunk: unknown): string {
  return `data: ${JSON.stringify(chunk)}\n\n`
}
