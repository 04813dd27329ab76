import type { Timeline } from './timeline.ts'

/** A call to a fake platform. */
export interface Call {
  readonly name: string
  readonly isRateLimited: boolean
  /** The text in the call. */
  readonly text?: string | undefined
}

/** A fake platform with one chat in it. */
export interface Opened {
  /** Called after each change in the chat. Returns a function that stops it. */
  observe(look: () => void): () => void
  /** The text that a person sees there. */
  screen(): string
  calls(): readonly Call[]
  /** How many messages notified. */
  notifications(): number
  /** Rate-limits the next call. */
  refuseNext(): void
  /** Shows a reply through our sink. `start`: when the reply began, by `performance.now()`. */
  ours(timeline: Timeline, start: number): Promise<void>
  /** Shows its text through Chat SDK. Its set-up counts towards the same time. */
  peer(timeline: Timeline, start: number): Promise<void>
  close(): Promise<void>
}

export interface Platform {
  readonly name: string
  open(): Promise<Opened>
}

/** The visible text of the bot's messages. */
export function textOf(screen: readonly { readonly from: string; readonly text: string }[]): string {
  return screen
    .filter(({ from }) => from !== 'user' && from !== 'person')
    .map(({ text }) => text)
    .join('\n')
}
