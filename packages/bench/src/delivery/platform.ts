import type { Timeline } from './timeline.ts'

/** A call to a fake platform. */
export interface Call {
  readonly name: string
  readonly isRateLimited: boolean
  /** The text that it carried. */
  readonly text?: string | undefined
}

/** A fake platform with one chat in it. */
export interface Opened {
  /** Told when something changed in the chat. What it returns stops it. */
  observe(look: () => void): () => void
  /** What a person reads there. */
  screen(): string
  calls(): readonly Call[]
  /** How many messages rang. */
  notifications(): number
  /** The next call is refused for its rate. */
  refuseNext(): void
  /** Shows a reply by our sink. It began at `start`, by `performance.now()`. */
  ours(timeline: Timeline, start: number): Promise<void>
  /** Shows its text by Chat SDK. Whatever has to be set up first takes of the same time. */
  peer(timeline: Timeline, start: number): Promise<void>
  close(): Promise<void>
}

export interface Platform {
  readonly name: string
  open(): Promise<Opened>
}
