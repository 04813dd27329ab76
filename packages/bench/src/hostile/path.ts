/** One way in which a text reaches a reader. */
export interface Path {
  readonly id: string
  /** The path whose plain text its patterns are held against. Default: itself. */
  readonly floor?: Path
  /**
   * A text that grows: each call is one flush, given the whole text so far. What it returns then shows the messages,
   * which is the platform's work, not measured.
   */
  open(): (text: string, isOpen: boolean) => () => void
}
