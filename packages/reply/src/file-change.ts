/** A file that an agent changed. */
export interface FileChange {
  /** Its path, relative to the session's directory if it is inside. Any text: it may contain line breaks. */
  readonly path: string
  /** What happened to it. `modified` also if that is not known. */
  readonly kind: 'added' | 'deleted' | 'modified' | 'renamed'
  /** Set if `kind` is `renamed`: the earlier path. */
  readonly from?: string | undefined
  /** Whether it has no text. Absent if it has, and if that is not known. */
  readonly isBinary?: true | undefined
  /** How many lines were added. Absent if that is not known. */
  readonly additions?: number | undefined
  /** How many lines were removed. Absent if that is not known. */
  readonly deletions?: number | undefined
  /**
   * The hunks of unified diffs, each without a header, and each for the file after the ones before. Empty if no line
   * changed, and if the lines are not known.
   */
  readonly patches: readonly string[]
}
