/** How many of its last commits the committer keeps. */
export const kept = 20

/** From a few bytes to more than a page of the database, different for each number. */
export function textOf(number: number): string {
  return `${number} `.repeat(1 + ((number * 7919) % 2000))
}
