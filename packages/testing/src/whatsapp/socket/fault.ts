import { type Befalling, createPlan, type FaultPlan } from '../../fault.ts'

/** A failure of a call to a socket. */
export type SocketFault = Befalling & {
  /** Default: any but `typing` and `read`. */
  readonly kind?: SocketCallKind
} & (
    | /** It is refused with that status: nothing was done. */ {
        readonly type: 'refused'
        readonly statusCode: number
        readonly message?: string
      }
    /** The connection closes before anything was sent, and this socket stays closed. */
    | { readonly type: 'drop' }
    /** It is done, and the answer does not come in time: 408. */
    | { readonly type: 'unanswered' }
    /** It is done, and the connection closes. */
    | { readonly type: 'accept-then-drop' }
    /** Not done, and never answered. */
    | { readonly type: 'stall' }
  )

export type SocketCallKind = 'text' | 'edit' | 'delete' | 'react' | 'document' | 'typing' | 'read'

export type SocketFaultPlan = FaultPlan<SocketFault, [kind: SocketCallKind]>

export function createSocketFaultPlan(faults: readonly SocketFault[]): SocketFaultPlan {
  return createPlan(faults, ({ kind: wanted }, kind) =>
    wanted === undefined ? kind !== 'typing' && kind !== 'read' : wanted === kind,
  )
}
