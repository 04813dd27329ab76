import { type ConnectionFault, type FaultTimes, isMethod } from '../platform/fault.ts'
import type { TelegramCall } from './server.ts'

/** A failure of a call. */
export type TelegramFault = ToCalls &
  (
    | ConnectionFault
    /** 429. The chat of the call is frozen for as long, as after a real one. */
    | { readonly type: 'rate-limited'; readonly retryAfterS: number }
    /**
     * An error response, by default with the usual description for the code. Nothing was done, unless it `isTaken`: a
     * gateway that gives up on a server which continues.
     */
    | { readonly type: 'status'; readonly code: number; readonly description?: string; readonly isTaken?: boolean }
    /** 502 and a web page instead of JSON. Nothing was done. */
    | { readonly type: 'html' }
  )

/** The calls that a fault applies to. */
interface ToCalls extends FaultTimes {
  /** Default: any but `getUpdates`. */
  readonly method?: string | RegExp
  /** Default: any, including calls without one. */
  readonly chatId?: number
}

/**
 * Whether a fault applies to a call: it has the fault's chat and method, if the fault names them. Without a method, a
 * fault applies to all but `getUpdates`.
 */
export function matchesTelegram(fault: TelegramFault, call: Pick<TelegramCall, 'method' | 'chatId'>): boolean {
  if (fault.chatId !== undefined && fault.chatId !== call.chatId) return false
  return fault.method === undefined ? call.method !== 'getUpdates' : isMethod(fault.method, call.method)
}
