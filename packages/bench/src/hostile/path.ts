/** One way that a text takes to a reader. */
export interface Path {
  readonly id: string
  /** The path whose plain text the patterns are compared with. Default: itself. */
  readonly floor?: Path
  /** The complete text goes where its tail stood, so that the last flush is like any other. */
  readonly isEdited: boolean
  /**
   * A text that grows: each call is one flush, given the whole text so far. What it returns then shows the messages,
   * which is the platform's work, not measured.
   */
  open(): (text: string, isOpen: boolean) => () => void
}
