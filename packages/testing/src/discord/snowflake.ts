import type { Clock } from '../clock.ts'

/** Ids begin with the time since 2015. https://discord.com/developers/docs/reference#snowflakes */
const epochMs = Date.UTC(2015, 0, 1)

/** Makes ids, each greater than the previous one. */
export function createSnowflakes(clock: Clock): () => string {
  let last = 0n
  return () => {
    const earliest = BigInt(clock.now() - epochMs) << 22n
    last = earliest > last ? earliest : last + 1n
    return String(last)
  }
}
