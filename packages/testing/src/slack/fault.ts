import { type Befalling, createPlan, type FaultPlan } from '../fault.ts'

/** A failure of a call. */
export type SlackFault = ToCalls &
  /** 429 with `Retry-After`; the method is frozen for as long, as after a real one. */
  (
    | { readonly type: 'rate-limited'; readonly retryAfterS: number }
    /** `ok: false` with that error. Nothing was done, unless it `isTaken`. */
    | { readonly type: 'error'; readonly error: string; readonly isTaken?: boolean }
    /** A status that is not 200; nothing was done, unless it `isTaken`. */
    | { readonly type: 'status'; readonly code: number; readonly isTaken?: boolean }
    /** 200 and a web page instead of JSON: nothing was done. */
    | { readonly type: 'html' }
    /** The connection breaks before the call is taken. */
    | { readonly type: 'refuse' }
    /** The call is taken and the connection breaks before the answer, so the client can't know. */
    | { readonly type: 'accept-then-drop' }
    /** Not taken, and never answered: the client has to give up. */
    | { readonly type: 'stall' }
    /** Taken, and never answered. */
    | { readonly type: 'accept-then-stall' }
    /** Taken and answered after `delayMs`, by the clock. */
    | { readonly type: 'delay'; readonly delayMs: number }
  )

/** The calls that a fault applies to. */
interface ToCalls extends Befalling {
  /** Default: any but `apps.connections.open`. */
  readonly method?: string | RegExp
  /** Default: any, including calls without one. */
  readonly channel?: string
}

export type SlackFaultPlan = FaultPlan<SlackFault, [method: string, channel: string | undefined]>

export function createFaultPlan(faults: readonly SlackFault[]): SlackFaultPlan {
  return createPlan(faults, befalls)
}

function befalls(fault: SlackFault, method: string, channel: string | undefined): boolean {
  if (fault.channel !== undefined && fault.channel !== channel) return false
  if (fault.method === undefined) return method !== 'apps.connections.open'
  return typeof fault.method === 'string' ? fault.method === method : fault.method.test(method)
}
