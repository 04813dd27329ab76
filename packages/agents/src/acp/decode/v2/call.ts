import { type Call, toolOf } from '../call.ts'
import type { ToolCallUpdate } from './schema.ts'

/** The values of a call that an update with null clears. */
const cleared = {
  name: undefined,
  title: undefined,
  kind: 'other',
  status: 'pending',
  content: [],
  locations: [],
  rawInput: undefined,
  rawOutput: undefined,
} as const

/** Merges an update into a call. A field that the update leaves out stays, and null clears it. */
export function mergedCall(known: Call | undefined, update: ToolCallUpdate): Call {
  const base: Call = known ?? { toolCallId: update.toolCallId, tool: toolNameOf(update), status: 'pending' }
  const fields = Object.entries(cleared).flatMap(([name, empty]) => {
    const value = update[name as keyof typeof cleared]
    return value === undefined ? [] : [[name, value === null ? empty : value] as const]
  })
  const meta = update._meta === null ? undefined : withoutNulls({ ...base._meta, ...update._meta })
  return { ...base, ...Object.fromEntries(fields), _meta: meta }
}

/**
 * The call of a permission request, which is an update of it. Empty arguments or content in the request don't replace those
 * of the call, because everything that is allowed must be shown.
 */
export function askedCall(known: Call | undefined, { rawInput, content, ...update }: ToolCallUpdate): Call {
  return mergedCall(known, {
    ...update,
    rawInput: isEmpty(rawInput) && known?.rawInput !== undefined ? undefined : rawInput,
    content: isEmpty(content) && known?.content ? undefined : content,
  })
}

/** Claude's agent begins the names of Claude Code's tools with a capital letter. In a reply they are small. */
function toolNameOf({ toolCallId, name, title, kind, rawInput }: ToolCallUpdate): string {
  const own = name && /^[A-Z]/.test(name) ? name.toLowerCase() : name
  return toolOf({ toolCallId, name: own, title, kind, rawInput })
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

function withoutNulls(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}
