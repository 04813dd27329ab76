/** What the person who opened a page may do there. */
export interface PageAccess {
  /** The person's name, as the page shows it. */
  readonly who?: string | undefined
  /** Whether the person may answer questions, and allow or reject permissions. */
  readonly mayAnswer: boolean
  /** Whether the person may stop the run. */
  readonly mayStop: boolean
  /** Whether the person may allow a permission. False once the link has allowed one, if it may do so once. */
  readonly mayAllow: boolean
  /** When the link ends, in ms since the epoch. Absent if it has no end. */
  readonly until?: number | undefined
}
