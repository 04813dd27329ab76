/** One row of the table: a measurement and its bound. */
export interface Goal {
  /** The id in `--only` and in the rows of `--json`. */
  readonly id: string
  /** A short description of the measurement. */
  readonly what: string
  readonly unit:
    | '× the floor'
    | '× as long'
    | '× as large'
    | '× as fast'
    | '% of a core'
    | 'ms'
    | 'ms of CPU'
    | 'letters'
    | 'calls'
    | '× as many'
    | 'kB'
  readonly bound: Bound
  /**
   * Returns what this machine lacks for it and how to get that, as a sentence. Undefined if it lacks nothing. Default: it needs
   * nothing that a machine may lack.
   */
  readonly lacking?: () => string | undefined
  /** Returns the figure in the unit. */
  measure(effort: Effort): Promise<number> | number
}

type Bound = { readonly atMost: number } | { readonly atLeast: number }

/** How long to measure. `quick` is a rough check while working, and its figures vary. */
export type Effort = 'full' | 'quick'

/** A goal's row in `--json`. */
interface JsonRow {
  readonly id: string
  readonly value: number
  readonly unit: string
  readonly goal: string
  readonly holds: boolean
}

/** Whether a figure is within its bound. A figure that equals it is. */
export function meetsBound(value: number, bound: Bound): boolean {
  return 'atMost' in bound ? value <= bound.atMost : value >= bound.atLeast
}

/** The bound for people, for example "≤ 20". */
export function boundText(bound: Bound): string {
  return 'atMost' in bound ? `≤ ${bound.atMost}` : `≥ ${bound.atLeast}`
}

/** The row of a goal in `--json`, with whether the figure is within its bound. */
export function jsonRow({ id, unit, bound }: Goal, value: number): JsonRow {
  return { id, value, unit, goal: boundText(bound), holds: meetsBound(value, bound) }
}
