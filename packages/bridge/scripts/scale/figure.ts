/** One number that a part found. */
export interface Figure {
  readonly name: string
  readonly value: number
  /** The most that is acceptable. Absent if there is no goal. */
  readonly most?: number
  /** Whether a slow machine alone can miss the goal. */
  readonly isSpeed?: true
}

/** Whether the goal of a figure is missed. */
export function isMissed({ value, most }: Figure): boolean {
  return most !== undefined && !(value <= most)
}

/** Returns the value below which that share of them is. Endless without values, so that no goal is reached by doing nothing. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.POSITIVE_INFINITY
}
