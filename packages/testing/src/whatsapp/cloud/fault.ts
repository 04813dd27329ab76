import type { ConnectionFault, FaultTimes } from '../../platform/fault.ts'
import type { WhatsAppCall } from './server.ts'

/** A failure of a call to the Cloud API. */
export type CloudFault = ToCalls &
  (
    | ConnectionFault
    /** The limit of the pair (131056) or of the number (130429). Nothing was done. Default: the pair's. */
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
    /**
     * The call succeeds, and the webhook gets this error for the message. The person never sees it. With `afterMs`, the webhook first
     * gets that it was sent, and the error that much later.
     */
    | { readonly type: 'undelivered'; readonly code: number; readonly afterMs?: number }
    /** A web page instead of JSON, with this status. Nothing was done. */
    | { readonly type: 'page'; readonly status: number }
  )

/** The kind of a call. `number` reads the number that people write to. */
export type CloudCallKind =
  | 'text'
  | 'interactive'
  | 'document'
  | 'image'
  | 'reaction'
  | 'typing'
  | 'media'
  | 'number'
  | 'other'

interface ToCalls extends FaultTimes {
  /** Default: any but `typing` and `number`. */
  readonly kind?: CloudCallKind
  /** Default: any person. */
  readonly to?: string
}

/**
 * Whether a fault applies to a call: it is to the fault's person and of its kind, if the fault names them. Without a
 * kind, a fault applies to all but `typing` and `number`.
 */
export function matchesCloud(fault: CloudFault, { kind, to }: Pick<WhatsAppCall, 'kind' | 'to'>): boolean {
  if (fault.to !== undefined && fault.to !== to) return false
  return fault.kind === undefined ? kind !== 'typing' && kind !== 'number' : fault.kind === kind
}
