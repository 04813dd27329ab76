/** Which of the matching calls a fault applies to, counted from when it was added. */
export interface FaultTimes {
  /** The first matching call that it applies to, from 1. Default 1. */
  readonly nth?: number
  /** How many consecutive calls it applies to. Default 1. */
  readonly times?: number
}

/** A failure of the connection that carries a call. The same on every platform. */
export type ConnectionFault =
  /** The connection breaks before the call is done. */
  | { readonly type: 'refuse' }
  /** The call is done and the connection breaks before the answer, so the client can't know. */
  | { readonly type: 'accept-then-drop' }
  /** The call is not done and never answered, so the client has to give up. */
  | { readonly type: 'stall' }
  /** The call is done and never answered. */
  | { readonly type: 'accept-then-stall' }
  /** The call is done and answered after `delayMs`, by the fake's clock. */
  | { readonly type: 'delay'; readonly delayMs: number }

/** The faults that a platform answers with errors of its own. */
export type AnswerFault<Fault> = Exclude<Fault, { readonly type: ConnectionFault['type'] }>

const connectionFaults: ReadonlySet<string> = new Set<ConnectionFault['type']>([
  'refuse',
  'accept-then-drop',
  'stall',
  'accept-then-stall',
  'delay',
])

export function isAnswerFault<Fault extends { readonly type: string }>(fault: Fault): fault is AnswerFault<Fault> {
  return !connectionFaults.has(fault.type)
}

export function isConnectionFault(fault: { readonly type: string }): fault is ConnectionFault {
  return connectionFaults.has(fault.type)
}

/** The remaining faults. `Call` identifies a call on that platform. */
export interface FaultPlan<Fault, Call extends readonly unknown[]> {
  add(fault: Fault): void
  /** The fault for this call. Every matching fault counts the call, and the first one due applies. */
  next(...call: Call): Fault | undefined
}

export function createFaultPlan<Fault extends FaultTimes, Call extends readonly unknown[]>(
  faults: readonly Fault[],
  matches: (fault: Fault, ...call: Call) => boolean,
): FaultPlan<Fault, Call> {
  const plan = faults.map((fault) => ({ fault, seen: 0 }))
  return {
    add: (fault) => {
      plan.push({ fault, seen: 0 })
    },
    next: (...call) => {
      let due: Fault | undefined
      for (const entry of plan) {
        if (!matches(entry.fault, ...call)) continue
        entry.seen += 1
        const { nth = 1, times = 1 } = entry.fault
        if (entry.seen >= nth && entry.seen < nth + times) due ??= entry.fault
      }
      return due
    },
  }
}

/** Whether a fault's `method`, a name or a pattern, matches a call. */
export function isMethod(wanted: string | RegExp, method: string): boolean {
  return typeof wanted === 'string' ? wanted === method : wanted.test(method)
}
