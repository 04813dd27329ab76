import type { FileChange } from '@reply/core'
import type { Change } from '../../src/state/difference.ts'
import type { PageAccess } from '../../src/state/page-access.ts'

/** An event of a stream. Its server is believed, because the page is its own. */
export type StreamEvent =
  | { readonly type: 'access'; readonly access: PageAccess }
  | { readonly type: 'run'; readonly seq: number; readonly run: unknown }
  | { readonly type: 'change'; readonly seq: number; readonly changes: readonly Change[] }
  | { readonly type: 'end' }

/** Reads an event. Undefined for one of a newer server. */
export function readStreamEvent(name: string | undefined, data: string): StreamEvent | undefined {
  switch (name) {
    case 'access':
      return { type: name, access: JSON.parse(data) as PageAccess }
    case 'run':
      return { type: name, ...(JSON.parse(data) as { seq: number; run: unknown }) }
    case 'change':
      return { type: name, ...(JSON.parse(data) as { seq: number; changes: readonly Change[] }) }
    case 'end':
      return { type: name }
    default:
      return undefined
  }
}

/** The state that the server's events make. */
export function believedState<State>(state: unknown): State {
  return state as State
}

/** Reads the changes of a session. */
export function readDiff(text: string): readonly FileChange[] {
  return (JSON.parse(text) as { files: readonly FileChange[] }).files
}

/** Reads the sentence of a refusal. Undefined if the text has none. */
export function readError(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    return typeof error === 'string' ? error : undefined
  } catch {
    return undefined
  }
}
