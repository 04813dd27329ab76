/** One line of the table: something measured, and the bound it has to keep. */
export interface Goal {
  /** What `--only` and the rows of `--json` call it. */
  readonly id: string
  /** What is measured, in a few words. */
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
  readonly bound: Bound
  /** A sharper bound that would be nice to have. */
  readonly prize?: Bound | undefined
  measure(effort: Effort): Promise<number> | number
}

export type Bound = { readonly atMost: number } | { readonly atLeast: number }

/** How long to look. `quick` is for a glance while working; its figures jump about. */
export type Effort = 'full' | 'quick'

/** What `--json` writes for a goal. */
export interface Row {
  readonly id: string
  readonly value: number
  readonly unit: string
  readonly goal: string
  readonly holds: boolean
}

export function keeps(value: number, bound: Bound): boolean {
  return 'atMost' in bound ? value <= bound.atMost : value >= bound.atLeast
}

export function inWords(bound: Bound): string {
  return 'atMost' in bound ? `≤ ${bound.atMost}` : `≥ ${bound.atLeast}`
}

export function rowOf({ id, unit, bound }: Goal, value: number): Row {
  return { id, value, unit, goal: inWords(bound), holds: keeps(value, bound) }
}
