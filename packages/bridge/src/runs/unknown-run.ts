import type { Button } from '@reply/sink/channel'
import { type ChatPlace, placeKey } from '../place.ts'
import type { Execution } from '../registry/execution.ts'
import type { Write } from '../store/store.ts'
import type { BridgeWords } from '../words.ts'

/** How long a person can still decide about a prompt that may not have run, in ms: 30 days. */
const keptMs = 2_592_000_000

/** The buttons with which its person decides. */
export function unknownButtons({ id }: Execution, words: BridgeWords): readonly (readonly Button[])[] {
  return [
    [
      { label: words.runAgain, data: `b/again/${id}` },
      { label: words.dropIt, data: `b/leave/${id}` },
    ],
  ]
}

/** All keys of prompts that may have run begin with it. */
export const unknownPrefix = 'unknown/'

/** Where a prompt is kept that may have run already, by the id of its execution. */
export function unknownRunKey(place: ChatPlace, id: string): string {
  return `${unknownPrefix}${placeKey(place)}/${id}`
}

/** Keeps the prompt of an execution until a person decides. */
export function keepUnknown({ id, prompt }: Execution, now: number): Write {
  return { type: 'put', key: unknownRunKey(prompt, id), value: JSON.stringify(prompt), expiresAt: now + keptMs }
}
