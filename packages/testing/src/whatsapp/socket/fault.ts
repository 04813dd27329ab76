/** What goes wrong with a call to a socket. */
export type SocketFault = {
  /** Default: any but `typing` and `read`. */
  readonly kind?: SocketCallKind
  /** The first of the calls that match which it befalls, from 1. Default 1. */
  readonly nth?: number
  /** How many it befalls, one after the other. Default 1. */
  readonly times?: number
} & (
  | /** It is refused with that status: nothing was done. */ {
      readonly type: 'refused'
      readonly statusCode: number
      readonly message?: string
    }
  /** The connection closes before anything was sent, and this socket is done for. */
  | { readonly type: 'drop' }
  /** It is done, and the answer does not come in time: 408. */
  | { readonly type: 'unanswered' }
  /** It is done, and the connection closes. */
  | { readonly type: 'accept-then-drop' }
  /** Not done, and never answered. */
  | { readonly type: 'stall' }
)

export type SocketCallKind = 'text' | 'edit' | 'delete' | 'react' | 'document' | 'typing' | 'read'

export interface SocketFaultPlan {
  add(fault: SocketFault): void
  next(kind: SocketCallKind): SocketFault | undefined
}

export function createSocketFaultPlan(faults: readonly SocketFault[]): SocketFaultPlan {
  const plan = faults.map((fault) => ({ fault, seen: 0 }))
  return {
    add: (fault) => {
      plan.push({ fault, seen: 0 })
    },
    next: (kind) => {
      let due: SocketFault | undefined
      for (const entry of plan) {
        const { kind: wanted, nth = 1, times = 1 } = entry.fault
        if (wanted === undefined ? kind === 'typing' || kind === 'read' : wanted !== kind) continue
        entry.seen += 1
        if (entry.seen >= nth && entry.seen < nth + times) due ??= entry.fault
      }
      return due
    },
  }
}
