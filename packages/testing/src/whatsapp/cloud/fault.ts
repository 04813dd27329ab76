/** What goes wrong with a call to the Cloud API. */
export type CloudFault = ToCalls &
  /** The limit of the pair (131056) or of the number (130429): nothing was done. Default the pair's. */
  (
    | { readonly type: 'rate-limited'; readonly code?: 131056 | 130429 }
    /** An answer that refuses. Nothing was done, unless it `isTaken`: a gateway that gives up on a server which goes on. */
    | {
        readonly type: 'refused'
        readonly status: number
        readonly code: number
        readonly details?: string
        readonly isTaken?: boolean
      }
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

/** What a call is about. */
export type CloudCallKind = 'text' | 'interactive' | 'document' | 'reaction' | 'typing' | 'media' | 'other'

interface ToCalls {
  /** Default: any but `typing`. */
  readonly kind?: CloudCallKind
  /** Default: anybody. */
  readonly to?: string
  /** The first of the calls that match which it befalls, from 1. Default 1. */
  readonly nth?: number
  /** How many it befalls, one after the other. Default 1. */
  readonly times?: number
}

export interface CloudFaultPlan {
  add(fault: CloudFault): void
  /** What befalls this call. Every fault that matches counts it; of those that are due the first is done. */
  next(kind: CloudCallKind, to: string | undefined): CloudFault | undefined
}

export function createCloudFaultPlan(faults: readonly CloudFault[]): CloudFaultPlan {
  const plan = faults.map((fault) => ({ fault, seen: 0 }))
  return {
    add: (fault) => {
      plan.push({ fault, seen: 0 })
    },
    next: (kind, to) => {
      let due: CloudFault | undefined
      for (const entry of plan) {
        const { nth = 1, times = 1 } = entry.fault
        if (!befalls(entry.fault, kind, to)) continue
        entry.seen += 1
        if (entry.seen >= nth && entry.seen < nth + times) due ??= entry.fault
      }
      return due
    },
  }
}

function befalls(fault: CloudFault, kind: CloudCallKind, to: string | undefined): boolean {
  if (fault.to !== undefined && fault.to !== to) return false
  return fault.kind === undefined ? kind !== 'typing' : fault.kind === kind
}
