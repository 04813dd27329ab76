import type { Reply } from '@reply/core'

/** The runs of a server, for the page that lists them: those that wait for people first, then the newest. */
export interface PageList {
  readonly runs: readonly PageListItem[]
}

/** A run in a list. */
export interface PageListItem {
  /** Its id in addresses. */
  readonly id: string
  readonly title?: string | undefined
  /** The beginning of its prompt. */
  readonly prompt?: string | undefined
  readonly directory?: string | undefined
  /** Absent for the last run of a session that was not read yet. */
  readonly phase?: Reply['phase'] | undefined
  readonly outcome?: Reply['outcome']
  /** How many questions and permissions wait for a person. */
  readonly asks: number
  /** When it began, or when its session changed last, in ms since the epoch. */
  readonly at?: number | undefined
}
