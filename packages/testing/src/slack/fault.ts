import { type ConnectionFault, type FaultTimes, isMethod } from '../platform/fault.ts'
import type { SlackCall } from './server.ts'

/** A failure of a call. */
export type SlackFault = ToCalls &
  (
    | ConnectionFault
    /** 429 with `Retry-After`. The method is frozen for as long, as after a real one. */
    | { readonly type: 'rate-limited'; readonly retryAfterS: number }
    /** `ok: false` with that error. Nothing was done, unless it `isTaken`. */
    | { readonly type: 'error'; readonly error: string; readonly isTaken?: boolean }
    /** A status that is not 200. Nothing was done, unless it `isTaken`. */
    | { readonly type: 'status'; readonly code: number; readonly isTaken?: boolean }
    /** 200 and a web page instead of JSON. Nothing was done. */
    | { readonly type: 'html' }
  )

/** The calls that a fault applies to. */
interface ToCalls extends FaultTimes {
  /** Default: any but `apps.connections.open`. */
  readonly method?: string | RegExp
  /** Default: any, including calls without one. */
  readonly channel?: string
}

/**
 * Whether a fault applies to a call: it has the fault's channel and method, if the fault names them. Without a
 * method, a fault applies to all but `apps.connections.open`.
 */
export function matchesSlack(fault: SlackFault, call: Pick<SlackCall, 'method' | 'channel'>): boolean {
  if (fault.channel !== undefined && fault.channel !== call.channel) return false
  return fault.method === undefined ? call.method !== 'apps.connections.open' : isMethod(fault.method, call.method)
}
