import { same, sameButRaw } from '../fields.ts'
import type { Part, ReasoningPart, TextPart, ToolPart, ToolStatus } from '../part.ts'
import { withText } from './shape.ts'

/**
 * Merges a snapshot into a part. Returns the same object if the snapshot has nothing new.
 *
 * A sealed snapshot always wins, even if it is shorter. An unsealed one may be stale (REST returns "" for a text in
 * progress), so it never shortens a text, reopens a part or returns a tool call to an earlier state.
 */
export function mergePart(before: Part, incoming: Part): Part {
  if (before.type !== incoming.type) return before.type === 'unknown' ? incoming : sameOrNewer(before, incoming)
  if (incoming.type === 'tool' && before.type === 'tool') return mergeTool(before, incoming)
  if ((incoming.type === 'text' || incoming.type === 'reasoning') && 'text' in before) {
    if (incoming.status === 'sealed') return mergeSeal(before, incoming)
    if (before.status !== 'open') return before
    if (incoming.text.length <= before.text.length) return withMarks(before, incoming)
    return sameOrNewer(before, incoming)
  }
  return sameOrNewer(before, incoming)
}

function mergeSeal(before: Part, seal: TextPart | ReasoningPart): Part {
  if (before.status === 'abandoned' && seal.text.trim() === '') return before
  return sameOrNewer(before, seal)
}

/** Takes the snapshot's other fields but keeps the longer text. Keeps a known hole: a shorter text can't fill it. */
function withMarks(before: TextPart | ReasoningPart, incoming: TextPart | ReasoningPart): Part {
  const marked = before.hole ? { ...incoming, hole: before.hole } : incoming
  return sameOrNewer(before, withText(marked, before.text))
}

const rank: Record<ToolStatus, number> = { pending: 0, running: 1, completed: 2, error: 2 }

function mergeTool(before: ToolPart, incoming: ToolPart): Part {
  if (rank[incoming.state.status] < rank[before.state.status]) return before
  const named = incoming.tool === 'invalid' && before.tool !== 'invalid' ? { ...incoming, tool: before.tool } : incoming
  if (rank[named.state.status] === 2) return sameOrNewer(before, named)
  if (before.status === 'open') return sameOrNewer(before, isAmbiguous(before, named) ? withAmbiguity(named) : named)
  // The call was closed with its reply while still running: a late repetition doesn't reopen it.
  return before
}

/** OpenCode 1 keeps two calls with the same id in one part if the second begins before the first has ended. */
function isAmbiguous(before: ToolPart, incoming: ToolPart): boolean {
  if (before.state.status !== 'running') return false
  // OpenCode 2 reports progress of a call whose beginning was missed.
  if (before.tool === 'unknown') return false
  return (
    before.state.ambiguous === true || before.tool !== incoming.tool || !same(before.state.input, incoming.state.input)
  )
}

function withAmbiguity(part: ToolPart): ToolPart {
  return { ...part, state: { ...part.state, ambiguous: true } }
}

function sameOrNewer(before: Part, incoming: Part): Part {
  return sameButRaw<Part>(before, incoming) ? before : incoming
}
