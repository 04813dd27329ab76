import type { FaultTimes } from '../../platform/fault.ts'
import type { BaileysCall } from './socket.ts'

/** A failure of a call to a socket. */
export type SocketFault = FaultTimes & {
  /** Default: any but `typing` and `read`. */
  readonly kind?: SocketCallKind
} & (
    | /** It is refused with that status: nothing was done. */ {
        readonly type: 'refused'
        readonly statusCode: number
        readonly message?: string
      }
    /** The connection closes before anything was written, and this socket stays closed: 428. */
    | { readonly type: 'drop' }
    /** It is done, but writing it does not end in time: 408. */
    | { readonly type: 'unanswered' }
    /**
     * It is done, and the connection closes before the acknowledgement. The call resolves: `sendMessage` of Baileys
     * does once the bytes are written (`sendRawMessage` in its `Socket/socket.ts`).
     */
    | { readonly type: 'accept-then-drop' }
    /**
     * The call resolves without an acknowledgement. Nothing was done, unless it `isTaken`. The connection is dead,
     * which Baileys notices half a minute later by a missed keep-alive.
     */
    | { readonly type: 'silent'; readonly isTaken?: boolean }
    /** The call resolves, and the acknowledgement has the error. Nothing was done. See `handleBadAck` of Baileys. */
    | { readonly type: 'nack'; readonly error: string }
    /** Not done, and never answered. */
    | { readonly type: 'stall' }
  )

export type SocketCallKind = 'text' | 'edit' | 'delete' | 'react' | 'document' | 'image' | 'typing' | 'read'

/**
 * Whether a fault applies to a call: it is of the fault's kind. Without a kind, a fault applies to all but `typing`
 * and `read`.
 */
export function matchesSocket(fault: SocketFault, { kind }: Pick<BaileysCall, 'kind'>): boolean {
  return fault.kind === undefined ? kind !== 'typing' && kind !== 'read' : fault.kind === kind
}
