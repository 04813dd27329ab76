import type { ConnectionFault, FaultTimes } from '../platform/fault.ts'
import type { DiscordCallName } from './routes.ts'
import type { DiscordCall } from './server.ts'

/** A failure of a call. */
export type DiscordFault = ToCalls &
  (
    | ConnectionFault
    /** 429: for the call's bucket, for all calls, or for others who share it. That scope is frozen for as long. */
    | {
        readonly type: 'rate-limited'
        readonly retryAfterS: number
        /** Default `user`. */
        readonly scope?: 'user' | 'global' | 'shared'
      }
    /**
     * An error response. Nothing was done, unless it `isTaken`: a gateway that gives up on a server which continues.
     */
    | {
        readonly type: 'status'
        readonly status: number
        readonly code?: number
        readonly message?: string
        readonly isTaken?: boolean
      }
    /** 502 and a web page instead of JSON. Nothing was done. */
    | { readonly type: 'html' }
  )

/** The calls that a fault applies to. */
interface ToCalls extends FaultTimes {
  /** Default: all calls that write messages. Not typing, and none that read. */
  readonly call?: DiscordCallName | readonly DiscordCallName[]
  /** Default: any. */
  readonly channelId?: string
}

/** The calls that no fault applies to unless it names them. */
const namedOnly: ReadonlySet<DiscordCallName> = new Set(['typing', 'me', 'channel', 'messages'])

/**
 * Whether a fault applies to a call: it is in the fault's channel and of its kind, if the fault names them. Without a
 * kind, a fault applies to all but those in `namedOnly`.
 */
export function matchesDiscord(
  fault: DiscordFault,
  { name, channelId }: Pick<DiscordCall, 'name' | 'channelId'>,
): boolean {
  if (fault.channelId !== undefined && fault.channelId !== channelId) return false
  return fault.call === undefined ? !namedOnly.has(name) : [fault.call].flat().includes(name)
}
