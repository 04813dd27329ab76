import { type Befalling, createPlan, type FaultPlan } from '../fault.ts'
import type { DiscordCallName } from './routes/all.ts'

/** A failure of a call. */
export type DiscordFault = ToCalls &
  /** 429: for the call's bucket, for all calls, or for others who share it. That scope is frozen for as long. */
  (
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
    /** 502 and a web page instead of JSON: nothing was done. */
    | { readonly type: 'html' }
    /** The connection breaks before the call is taken. */
    | { readonly type: 'refuse' }
    /** The call is taken and the connection breaks before the answer, so the client can't know. */
    | { readonly type: 'accept-then-drop' }
    /** Not taken, and never answered: the client has to give up. */
    | { readonly type: 'stall' }
    /** Taken, and never answered. */
    | { readonly type: 'accept-then-stall' }
  )

/** The calls that a fault applies to. */
interface ToCalls extends Befalling {
  /** Default: all calls that write messages; not typing, and none that read. */
  readonly call?: DiscordCallName | readonly DiscordCallName[]
  /** Default: any. */
  readonly channelId?: string
}

export type DiscordFaultPlan = FaultPlan<DiscordFault, [call: DiscordCallName, channelId: string]>

export function createFaultPlan(faults: readonly DiscordFault[]): DiscordFaultPlan {
  return createPlan(faults, befalls)
}

const others: ReadonlySet<DiscordCallName> = new Set(['typing', 'me', 'channel', 'messages'])

function befalls(fault: DiscordFault, call: DiscordCallName, channelId: string): boolean {
  if (fault.channelId !== undefined && fault.channelId !== channelId) return false
  if (fault.call === undefined) return !others.has(call)
  return typeof fault.call === 'string' ? fault.call === call : fault.call.includes(call)
}
