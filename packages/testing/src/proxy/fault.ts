/**
 * A place on an event stream: after so many bytes, or after so many events. Heartbeats, which come by the clock, and
 * the `sync` copies of `/global/event` are no events here.
 */
export type Place = { readonly bytes: number } | { readonly events: number }

/** What goes wrong with an event stream. */
export type StreamFault = OnConnection &
  (
    | {
        readonly type: 'cut'
        readonly at: Place
        /** The socket breaks, or the response ends as if nothing more were to come. Default "break". */
        readonly how?: 'break' | 'end'
      }
    /** The connection stays open and carries nothing, until `resume()`; then all that was held back comes. */
    | { readonly type: 'stall'; readonly at: Place }
    /** Events of a type are filtered out: all of them, or the next so many. Default "server.heartbeat". */
    | { readonly type: 'drop'; readonly event?: string; readonly times?: number }
    /** All comes so much later, in order. */
    | { readonly type: 'delay'; readonly delayMs: number }
    /** The nth event comes twice; without a number each one. */
    | { readonly type: 'duplicate'; readonly event?: number }
  )

interface OnConnection {
  /** Only on the nth event stream that is opened, from 1. Default: on all of them. */
  readonly connection?: number
}

/** What goes wrong with a request; the one that opens an event stream is a request, too. */
export type RequestFault = ToRequests &
  /** The server never hears of it; the client gets a failure, or a web page with status 200. */
  (
    | { readonly type: 'answer'; readonly with: 500 | 'html' }
    /** The connection breaks before the server hears of it. */
    | { readonly type: 'reset' }
    /** The server hears of it and answers, and the client's connection breaks before the answer: did it happen or not? */
    | { readonly type: 'lose-answer' }
  )

interface ToRequests {
  /** Default: any. */
  readonly method?: string
  /** Of the path, without the query. */
  readonly path: RegExp
  /** How many requests it befalls, then it is over. Default 1. */
  readonly times?: number
}

/** What goes wrong between a client and its server. Numbers count from 1. */
export type Fault = StreamFault | RequestFault

export const isStreamFault = (fault: Fault): fault is StreamFault => {
  switch (fault.type) {
    case 'cut':
    case 'stall':
    case 'drop':
    case 'delay':
    case 'duplicate':
      return true
    case 'answer':
    case 'reset':
    case 'lose-answer':
      return false
    default:
      return fault satisfies never
  }
}
