import type { LocalEnding, LocalOutput } from '@reply/core/source'

/** What a line of a one-way program says: output of its run, the id of its session, or how the run ends. */
export type OneWaySaid =
  | { readonly type: 'output'; readonly output: LocalOutput }
  /** The program's own id of the session, to go on with it. */
  | { readonly type: 'session'; readonly id: string }
  /** How the run ends once the program has. The last one counts; without one, it was cut off. */
  | { readonly type: 'ending'; readonly ending: LocalEnding }

export const output = (...outputs: readonly LocalOutput[]): readonly OneWaySaid[] =>
  outputs.map((each) => ({ type: 'output', output: each }))

/** A whole text, as programs say it that don't stream. */
export const wholeText = (type: 'text' | 'reasoning', text: string, raw: unknown): readonly OneWaySaid[] =>
  output({ type, delta: text, raw }, { type: 'seal', raw })

export const completed: readonly OneWaySaid[] = [{ type: 'ending', ending: { type: 'completed' } }]

export const failed = (name: string, message: string, statusCode?: number): readonly OneWaySaid[] => [
  { type: 'ending', ending: { type: 'failed', error: { name, message, statusCode, raw: undefined } } },
]
