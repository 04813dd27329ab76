import type { Clock } from '../clock.ts'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomDigits = 14

/** How many ids of one millisecond stay in order: the clock has 12 bits below the milliseconds. */
const perMs = 4096

/**
 * Returns a function that creates message ids in OpenCode's own format: "msg_", twelve hex digits of a 48-bit clock
 * (milliseconds × 4096 + a counter, so it wraps around every 2.2 years), then 14 random letters and digits. The counter
 * tells the ids of one millisecond apart. Servers of both generations only require the prefix.
 */
export function createMessageIDs(options: {
  readonly clock: Clock
  /** Returns a number from 0 to 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined
}): () => string {
  const { clock, random = Math.random } = options
  let lastAt = 0
  let count = 0
  return () => {
    const at = clock.now()
    count = at === lastAt ? (count + 1) % perMs : 0
    lastAt = at
    const ticks = BigInt.asUintN(48, BigInt(Math.trunc(at)) * BigInt(perMs) + BigInt(count))
    const tail = Array.from({ length: randomDigits }, () => digits[Math.floor(random() * digits.length)] ?? '0')
    return `msg_${ticks.toString(16).padStart(12, '0')}${tail.join('')}`
  }
}

/** How often the clock in an id wraps around, in ms. */
const wrapMs = 2 ** 48 / perMs

/**
 * Returns when a server made an id in this format, with any prefix, in ms since the epoch by its clock: of the possible times, the one
 * nearest to `near`. Undefined for another format.
 */
export function timeOfID(id: string, near: number): number | undefined {
  const ticks = /^[a-z]+_([0-9a-f]{12})/.exec(id)?.[1]
  if (ticks === undefined) return undefined
  const at = Math.floor(Number.parseInt(ticks, 16) / perMs)
  return at + Math.round((near - at) / wrapMs) * wrapMs
}
