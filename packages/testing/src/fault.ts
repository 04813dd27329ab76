/** When a fault of a fake befalls the calls that it is for. */
export interface Befalling {
  /** The first of the calls that match which it befalls, from 1. Default 1. */
  readonly nth?: number
  /** How many it befalls, one after the other. Default 1. */
  readonly times?: number
}

/** Faults that are still to come. `Call` is what tells calls apart on that platform. */
export interface FaultPlan<Fault, Call extends readonly unknown[]> {
  add(fault: Fault): void
  /** What befalls this call. Every fault that matches counts it; of those that are due the first is done. */
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
