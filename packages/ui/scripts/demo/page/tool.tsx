import type { ReactNode } from 'react'
import { Code } from './markdown.tsx'

/** Where a tool call is, in the word that the page shows. */
export type ToolState = 'preparing' | 'running' | 'waiting' | 'done' | 'failed' | 'rejected'

/** A tool call as it is shown. */
export interface ToolCallProps {
  readonly tool: string
  /** One line that says what it does. Empty if that is not known. */
  readonly title: string
  readonly state: ToolState
  readonly input: unknown
  /** What it returned, or why it failed. Undefined until then. */
  readonly output: string | undefined
}

/** Shows a tool call in one line, which opens to its input and output. */
export function ToolCall({ tool, title, state, input, output }: ToolCallProps): ReactNode {
  return (
    <details className="tool" data-state={state}>
      <summary>
        <span className="tool-name">{tool}</span>
        <span className="tool-title">{title}</span>
        <span className="tool-state">{state}</span>
      </summary>
      <div className="tool-inside">
        <Fields value={input} />
        {output !== undefined && (
          <div className="field">
            <span className="field-name">{state === 'failed' || state === 'rejected' ? 'reason' : 'output'}</span>
            <Code text={output === '' ? '(nothing)' : output} />
          </div>
        )}
      </div>
    </details>
  )
}

/** Shows the fields of an input, each with its whole value. */
function Fields({ value }: { readonly value: unknown }): ReactNode {
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : [['', value] as const]
  return fields.map(([name, field]) => (
    <div key={name} className="field">
      <span className="field-name">{name}</span>
      <Code text={typeof field === 'string' ? field : JSON.stringify(field, undefined, 2)} />
    </div>
  ))
}

/** One line for a call from its input: what it would run, read or look for. Empty if no field says that. */
export function subjectIn(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const named = new Map<string, unknown>(Object.entries(input))
  for (const name of ['command', 'description', 'filePath', 'path', 'pattern', 'url', 'query']) {
    const value = named.get(name)
    if (typeof value === 'string' && value !== '') return value
  }
  return ''
}
