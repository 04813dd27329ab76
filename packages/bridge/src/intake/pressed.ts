import { stopwatch } from '@reply/core/internal'
import type { SteadyClock } from '@reply/core/source'
import { readWithExpiry, type State } from '../state/state.ts'
import type { Write } from '../store/store.ts'

/** How long it is remembered that a press was carried out, in ms: two days. Platforms redeliver for one day. */
const pressedMs = 172_800_000

/**
 * Returns the write that marks a press as carried out, also for the next owner of its chat, to which the platform may deliver it again. It
 * conflicts if the press is marked.
 */
export function writePressed(channel: string, id: string): Write {
  return { type: 'put-if-absent', key: pressedKey(channel, id), value: '', expiresInMs: pressedMs }
}

/** Resolves with a function that tells how long ago a press was marked, in ms. Infinite if that is no longer remembered. */
export async function pressedAgoMs(
  state: Pick<State, 'list'>,
  channel: string,
  id: string,
  clock: SteadyClock,
): Promise<() => number> {
  const { expiresInMs } = (await readWithExpiry(state, pressedKey(channel, id))) ?? {}
  const agoMs = expiresInMs === undefined ? Number.POSITIVE_INFINITY : pressedMs - expiresInMs
  const sinceMs = stopwatch(clock)
  return () => agoMs + sinceMs()
}

function pressedKey(channel: string, id: string): string {
  return `pressed/${[channel, id].map(encodeURIComponent).join('/')}`
}
