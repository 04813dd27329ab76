/** Asks the person at the terminal. Each method rejects when that person gives up. */
export interface Questions {
  /** A line of text; `initial` is taken if nothing is typed. `check` says what is wrong with it; undefined: nothing. */
  text(question: string, options?: TextOptions): Promise<string>
  /** The same, and what is typed never shows. */
  secret(question: string): Promise<string>
  /** One of several. */
  choose<Value extends string>(question: string, choices: readonly Choice<Value>[]): Promise<Value>
  /** Tells something. */
  say(text: string): void
}

/** How a line of text is asked for. */
export interface TextOptions {
  /** Taken if nothing is typed. */
  readonly initial?: string | undefined
  /** Returns what is wrong with a text; undefined if nothing is. */
  readonly check?: ((text: string) => string | undefined) | undefined
  /** Gives up the question. */
  readonly signal?: AbortSignal | undefined
}

/** One of several answers. */
export interface Choice<Value extends string> {
  /** What the question resolves with. */
  readonly value: Value
  /** What the person sees. */
  readonly label: string
}
