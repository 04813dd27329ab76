import type { Reply } from '@reply/core'

/** The runs of a server, for the page that lists them: those that wait for people first, then the newest. */
export interface PageList {
  /** Those with asks that wait come first, then the newest. Empty if nothing has run. */
  readonly runs: readonly PageListItem[]
}

/** A run in a list. */
export interface PageListItem {
  /** Its id in addresses. */
  readonly id: string
  /** The title of its session. Absent if it has none yet. */
  readonly title?: string | undefined
  /** The beginning of its prompt. */
  readonly prompt?: string | undefined
  /** The directory of its session. Absent until it is known. */
  readonly directory?: string | undefined
  /** Absent for the last run of a session that was not read yet. */
  readonly phase?: Reply['phase'] | undefined
  /** How it ended. Absent before. */
  readonly outcome?: Reply['outcome']
  /** How many questions and permissions wait for a person. */
  readonly asks: number
  /** When it began, or when its session changed last, in ms since the epoch. */
  readonly at?: number | undefined
}
