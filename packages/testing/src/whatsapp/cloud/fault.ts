import { type Befalling, createPlan, type FaultPlan } from '../../fault.ts'

/** A failure of a call to the Cloud API. */
export type CloudFault = ToCalls &
  /** The limit of the pair (131056) or of the number (130429): nothing was done. Default: the pair's. */
  (
    | { readonly type: 'rate-limited'; readonly code?: 131056 | 130429 }
    /**
     * An error response. Nothing was done, unless it `isTaken`: a gateway that gives up on a server which continues.
     */
    | {
        readonly type: 'refused'
        readonly status: number
        readonly code: number
        readonly details?: string
        readonly isTaken?: boolean
      }
    /** It is taken, and the webhook gets this error for it: the person never sees it. */
    | { readonly type: 'undelivered'; readonly code: number }
    /** A web page instead of JSON, with this status: nothing was done. */
    | { readonly type: 'page'; readonly status: number }
    /** The connection breaks before the call is taken. */
    | { readonly type: 'refuse' }
    /** The call is taken and the connection breaks before the answer. */
    | { readonly type: 'accept-then-drop' }
    /** Not taken, and never answered. */
    | { readonly type: 'stall' }
    /** Taken, and never answered. */
    | { readonly type: 'accept-then-stall' }
  )

/** The kind of a call. `number` reads the number that people write to. */
export type CloudCallKind = 'text' | 'interactive' | 'document' | 'reaction' | 'typing' | 'media' | 'number' | 'other'

interface ToCalls extends Befalling {
  /** Default: any but `typing` and `number`. */
  readonly kind?: CloudCallKind
  /** Default: any person. */
  readonly to?: string
}

export type CloudFaultPlan = FaultPlan<CloudFault, [kind: CloudCallKind, to: string | undefined]>

export function createCloudFaultPlan(faults: readonly CloudFault[]): CloudFaultPlan {
  return createPlan(faults, befalls)
}

function befalls(fault: CloudFault, kind: CloudCallKind, to: string | undefined): boolean {
  if (fault.to !== undefined && fault.to !== to) return false
  return fault.kind === undefined ? kind !== 'typing' && kind !== 'number' : fault.kind === kind
}
