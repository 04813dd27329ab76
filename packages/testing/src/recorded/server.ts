import { isOpenCode2 } from '../generation.ts'
import { createFirstAnswers, createSecondAnswers, json } from './answers.ts'
import { type Frame, framesOf, isRestart } from './frames.ts'

/** The recording to play, and how far REST is ahead of it. */
export interface RecordedServerOptions {
  /** Raw server-sent events, as `readRecording` returns them. */
  readonly bytes: Uint8Array
  /** The server's version, which decides its generation. Default "1.18.33". */
  readonly version?: string
  /** How many events REST is ahead of the stream. Default 0. Real servers are ahead in a third of the readings. */
  readonly ahead?: number
}

/** A server that plays a recording, one event at a time, and answers REST as a real one would at that moment. */
export interface RecordedServer {
  /** Calls the server without a socket. */
  readonly fetch: typeof fetch
  /** How many events the recording has. */
  readonly length: number
  /** The events' types, in order. */
  readonly types: readonly string[]
  /** How many of them have been published. */
  readonly published: number
  /** The posts, in order: "POST /session/…/abort". */
  readonly posts: readonly string[]
  /** How many streams were opened. */
  readonly streams: number
  /** Whether a client is listening. */
  readonly hasListener: boolean
  /** How many requests are being answered. */
  readonly answering: number
  /** Whether REST shows a state of milliseconds: a run idle with an open message, or a prompt before its run. */
  readonly isPassing: boolean
  /**
   * Sends the next events to all listeners, and breaks all streams where the recorded server restarted. Returns how
   * many events were sent, restarts included, which is fewer than `count` at the end.
   */
  publish(count?: number): number
  /**
   * Sends the newest event again. Does nothing before the first, after a restart, and for a delta without an id, which
   * looks the same as a new one.
   */
  repeat(): void
  /** Sends text that is not in the recording to all listeners. */
  inject(text: string): void
  /** Ends every stream, as a closed or as a broken connection does. */
  cut(how?: 'end' | 'error'): void
  /** From now on events are lost on their way to the listeners, although the streams stay open. */
  stall(): void
  /** Lets the next requests, including streams, fail this way, in place of what was planned before. */
  fail(count: number, how: 500 | 'html' | 'refused'): void
}

type Controller = ReadableStreamDefaultController<Uint8Array>

/** Returns a server that stands before the first event of a recording, without a socket. */
export function createRecordedServer(options: RecordedServerOptions): RecordedServer {
  const { version = '1.18.33', ahead = 0 } = options
  const frames = framesOf(options.bytes)
  const answers = isOpenCode2(version) ? createSecondAnswers(version) : createFirstAnswers(version, frames)
  const posts: string[] = []
  const encoder = new TextEncoder()
  // Keyed with their signals: an aborted listener gets nothing.
  let listeners = new Map<Controller, AbortSignal | undefined>()
  let stalled = new Set<Controller>()
  let published = 0
  let folded = 0
  let streams = 0
  let answering = 0
  let failing: { count: number; how: 500 | 'html' | 'refused' } = { count: 0, how: 500 }
  return {
    fetch: async (input, init) => {
      answering += 1
      try {
        return await answer(requestFields(input, init))
      } finally {
        answering -= 1
      }
    },
    length: frames.length,
    types: frames.map((frame) => frame.type),
    get published() {
      return published
    },
    posts,
    get streams() {
      return streams
    },
    get hasListener() {
      return listeners.size > stalled.size
    },
    get answering() {
      return answering
    },
    get isPassing() {
      foldPublished()
      const next = frames[folded]
      if (next === undefined || isRestart(next)) return false
      return answers.isPassing(next)
    },
    publish,
    repeat: () => {
      const frame = frames[published - 1]
      if (frame && !isRestart(frame) && isRepeatable(frame)) sendToListeners(`data: ${frame.data}\n\n`)
    },
    inject: (text) => sendToListeners(text),
    cut,
    stall: () => {
      stalled = new Set(listeners.keys())
    },
    fail: (count, how) => {
      failing = { count, how }
    },
  }

  /**
   * Sends the next events to all listeners, and breaks all streams where the recorded server restarted. Returns how
   * many events were sent, restarts included, which is fewer than `count` at the end.
   */
  function publish(count = 1): number {
    let sent = 0
    let text = ''
    for (; sent < count && published < frames.length; sent++) {
      const frame = frames[published]
      published += 1
      if (!frame) break
      if (!isRestart(frame)) {
        text += `data: ${frame.data}\n\n`
        continue
      }
      sendToListeners(text)
      text = ''
      cut('error')
    }
    sendToListeners(text)
    return sent
  }

  /** Sends to all listeners but the stalled ones. Does nothing without text. */
  function sendToListeners(text: string): void {
    if (text === '') return
    const bytes = encoder.encode(text)
    for (const listener of listeners.keys()) if (!stalled.has(listener)) listener.enqueue(bytes)
  }

  /** Ends or breaks all streams. New ones may be opened. */
  function cut(how: 'end' | 'error' = 'end'): void {
    for (const listener of listeners.keys()) {
      if (how === 'end') listener.close()
      // An error discards unread data, but a broken connection doesn't.
      else setImmediate(() => listener.error(new TypeError('terminated')))
    }
    listeners = new Map()
    stalled = new Set()
  }

  /**
   * Makes REST show the published events, and the next `ahead` ones. It is never ahead of a restart: later events
   * haven't happened yet.
   */
  function foldPublished(): void {
    const end = Math.min(frames.length, published + ahead)
    while (folded < end) {
      const frame = frames[folded]
      if (!frame || (folded >= published && isRestart(frame))) return
      answers.applyFrame(frame)
      folded += 1
    }
  }

  /**
   * Fails as `fail` planned, or opens a stream, or answers REST as of now. Logs a request of any other method than GET
   * that doesn't fail. Rejects if it is aborted already.
   */
  async function answer({ method, url, signal }: RequestFields): Promise<Response> {
    signal?.throwIfAborted()
    const asked = new URL(url)
    const { pathname } = asked
    if (failing.count > 0) {
      failing = { ...failing, count: failing.count - 1 }
      if (failing.how === 'refused') throw new TypeError('fetch failed')
      if (failing.how === 'html') return new Response('<html></html>', { headers: { 'content-type': 'text/html' } })
      return json({ name: 'UnknownError', data: { message: 'An injected failure.' } }, 500)
    }
    if (answers.isStream(pathname)) return openStream(signal)
    foldPublished()
    if (method === 'GET') return answers.get(asked)
    posts.push(`${method} ${pathname}`)
    return answers.post(pathname)
  }

  /** Opens a stream that begins with the greeting. It ends when its request is aborted or its body is cancelled. */
  function openStream(signal: AbortSignal | undefined): Response {
    streams += 1
    let own: Controller | undefined
    /** Removes the stream's listener. */
    const stopListening = (): void => {
      if (!own) return
      listeners.delete(own)
      stalled.delete(own)
    }
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        own = controller
        listeners.set(controller, signal)
        controller.enqueue(encoder.encode(`data: ${answers.greeting}\n\n`))
        signal?.addEventListener('abort', () => {
          stalled.delete(controller)
          if (!listeners.delete(controller)) return
          controller.error(signal?.reason)
        })
      },
      cancel: stopListening,
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

/** Whether a second copy of the event can be told from a new event. */
function isRepeatable({ type, data }: Frame): boolean {
  return type !== 'message.part.delta' || data.includes('"id":"evt_')
}

/** The relevant fields of a request. */
interface RequestFields {
  readonly method: string
  readonly url: string
  readonly signal?: AbortSignal | undefined
}

/**
 * Returns the fields of a request. Those of `init` win. Reads them without a `Request`, because building one would cost
 * more than everything else.
 */
function requestFields(input: string | URL | Request, init: RequestInit = {}): RequestFields {
  const request = input instanceof Request ? input : undefined
  const method = init.method ?? request?.method ?? 'GET'
  return { method, url: request?.url ?? String(input), signal: init.signal ?? request?.signal }
}
