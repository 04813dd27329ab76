import type { Frame } from './frames.ts'

/** What a server of one generation answers, folded from the events of a recording. */
export interface Answers {
  /** The frame that opens each stream. */
  readonly greeting: string
  isStream(pathname: string): boolean
  apply(frame: Frame): void
  read(url: URL): Response
  /** The recording continues unchanged, so a post has no effect. */
  post(pathname: string): Response
  /** Whether no real server stays long in this state, if this event is the next. */
  isPassing(next: Frame): boolean
}
