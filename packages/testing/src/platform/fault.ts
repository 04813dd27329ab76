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

/** Whether the platform itself answers a call with this fault. */
export function isAnswerFault<Fault extends { readonly type: string }>(fault: Fault): fault is AnswerFault<Fault> {
  return !connectionFaults.has(fault.type)
}

/** Whether a fault breaks or delays the connection of a call. */
export function isConnectionFault(fault: { readonly type: string }): fault is ConnectionFault {
  return connectionFaults.has(fault.type)
}

/** The faults of a fake, and how many calls each has counted. */
export interface FaultPlan<Fault, Call> {
  add(fault: Fault): void
  /** Counts the call for every matching fault, and returns the first one that is due, if any. */
  next(call: Call): Fault | undefined
}

/**
 * Returns the plan by which a fake fails calls, with these faults. `matches` says whether a fault may hit a call,
 * before its `nth` and `times` are counted.
 */
export function createFaultPlan<Fault extends FaultTimes, Call>(
  faults: readonly Fault[],
  matches: (fault: Fault, call: Call) => boolean,
): FaultPlan<Fault, Call> {
  const plan = faults.map((fault) => ({ fault, seen: 0 }))
  return {
    add: (fault) => {
      plan.push({ fault, seen: 0 })
    },
    next: (call) => {
      let due: Fault | undefined
      for (const entry of plan) {
        if (!matches(entry.fault, call)) continue
        entry.seen += 1
        const { nth = 1, times = 1 } = entry.fault
        if (entry.seen >= nth && entry.seen < nth + times) due ??= entry.fault
      }
      return due
    },
  }
}

/** Whether the `method` of a fault, a name or a pattern, is a call's. */
export function isMethod(wanted: string | RegExp, method: string): boolean {
  return typeof wanted === 'string' ? wanted === method : wanted.test(method)
}
