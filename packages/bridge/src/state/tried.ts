/** A row that counts how many processes handled it. */
export interface Tried {
  /**
   * How many processes began to handle it, without those that stopped gracefully meanwhile. Absent while the first one handles
   * it, which is not counted in the store. If that process is killed, it counts as one. So does one that was suspended until
   * another one took over: a row that blocks a process looks the same from outside.
   */
  readonly tries?: number | undefined
}

/** Whether an earlier process may have begun to handle it. */
export function isTried({ tries = 0 }: Tried): boolean {
  return tries > 0
}

/** Returns the row with one more process that handles it. */
export function withNextTry<Row extends Tried>(row: Row): Row & { readonly tries: number } {
  return { ...row, tries: (row.tries ?? 1) + 1 }
}

/** Returns the row without the try of a process that stops gracefully. */
export function withoutLastTry<Row extends Tried>(row: Row): Row {
  return { ...row, tries: Math.max(0, (row.tries ?? 1) - 1) }
}
