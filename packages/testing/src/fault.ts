/** When a fault of a fake applies to its calls. */
export interface Befalling {
  /** The first matching call that it applies to, from 1. Default 1. */
  readonly nth?: number
  /** How many consecutive calls it applies to. Default 1. */
  readonly times?: number
}

/** The remaining faults. `Call` identifies a call on that platform. */
export interface FaultPlan<Fault, Call extends readonly unknown[]> {
  add(fault: Fault): void
  /** The fault for this call. Every matching fault counts the call; the first one due applies. */
  next(...call: Call): Fault | undefined
}

export function createPlan<Fault extends Befalling, Call extends readonly unknown[]>(
  faults: readonly Fault[],
  befalls: (fault: Fault, ...call: Call) => boolean,
): FaultPlan<Fault, Call> {
  const plan = faults.map((fault) => ({ fault, seen: 0 }))
  return {
    add: (fault) => {
      plan.push({ fault, seen: 0 })
    },
    next: (...call) => {
      let due: Fault | undefined
      for (const entry of plan) {
        if (!befalls(entry.fault, ...call)) continue
        entry.seen += 1
        const { nth = 1, times = 1 } = entry.fault
        if (entry.seen >= nth && entry.seen < nth + times) due ??= entry.fault
      }
      return due
    },
  }
}
