/**
 * A place on an event stream: after a number of bytes or events. Heartbeats, which depend on the time, and the `sync`
 * copies of `/global/event` don't count as events.
 */
export type StreamPlace = { readonly bytes: number } | { readonly events: number }

/** A fault of an event stream. */
export type StreamFault = OnConnection &
  (
    | {
        readonly type: 'cut'
        readonly at: StreamPlace
        /** Whether the socket breaks, or the response ends as if it were complete. Default "break". */
        readonly how?: 'break' | 'end'
      }
    /** The connection stays open and carries nothing until `resume()`. Then everything held back arrives. */
    | { readonly type: 'stall'; readonly at: StreamPlace }
    /**
     * Drops events of a type: all of them, or the next `times`. Default "server.heartbeat". With `forMs`, only those that come
     * within this time, as events do before a server has subscribed to them.
     */
    | { readonly type: 'drop'; readonly event?: string; readonly times?: number; readonly forMs?: number }
    /** Delays everything by `delayMs`, in order. */
    | { readonly type: 'delay'; readonly delayMs: number }
    /** Duplicates the nth event, or every event if no number is given. */
    | { readonly type: 'duplicate'; readonly event?: number }
  )

interface OnConnection {
  /** Only on the nth event stream, from 1. Default: all. */
  readonly connection?: number
}

/** A fault of a request. The request that opens an event stream counts too. */
export type RequestFault = ToRequests &
  /** The request never reaches the server. The client gets an error, or a web page with status 200. */
  (
    | { readonly type: 'answer'; readonly with: 500 | 'html' }
    /** The connection breaks before the request reaches the server. */
    | { readonly type: 'reset' }
    /**
     * The server gets the request and answers, and the client's connection breaks before the answer, so the client
     * can't know.
     */
    | { readonly type: 'lose-answer' }
  )

interface ToRequests {
  /** Default: any. */
  readonly method?: string
  /** Matches the path, without the query. */
  readonly path: RegExp
  /** How many requests it applies to. Default 1. */
  readonly times?: number
}

/** Faults between a client and its server. Numbers count from 1. */
export type ProxyFault = StreamFault | RequestFault

/** Whether a fault is one of an event stream. Any other is one of a request. */
export const isStreamFault = (fault: ProxyFault): fault is StreamFault => {
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
