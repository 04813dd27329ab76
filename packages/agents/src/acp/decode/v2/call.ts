import { askedContent, type Call, isEmpty, isFields, toolOf } from '../call.ts'
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

/**
 * Merges an update into a call. A field that the update leaves out stays, and null clears it. The tool's name is that of the
 * first update. Without a call, begins a pending one.
 */
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
 * The call of a permission request, with what the request and the earlier updates have, because everything that is allowed
 * must be shown.
 */
export function askedCall(known: Call | undefined, { rawInput, content, ...update }: ToolCallUpdate): Call {
  return mergedCall(known, {
    ...update,
    rawInput: askedInput(known?.rawInput, rawInput),
    content: askedContent(known?.content, content),
  })
}

/**
 * Returns the arguments of a call and of its permission request together. Where both have a field, the request's counts. A
 * text, a number or a list becomes the field `input`.
 */
function askedInput(known: unknown, asked: unknown): unknown {
  if (isEmpty(asked)) return known
  if (isEmpty(known)) return asked
  if (!isFields(known)) return isFields(asked) ? { input: known, ...asked } : asked
  return { ...known, ...(isFields(asked) ? asked : { input: asked }) }
}

/**
 * Returns the name of a call's tool in replies. Claude's agent begins the names of Claude Code's tools with a capital letter,
 * and in a reply they are small.
 */
function toolNameOf({ toolCallId, name, title, kind, rawInput, _meta }: ToolCallUpdate): string {
  const own = name && /^[A-Z]/.test(name) ? name.toLowerCase() : name
  return toolOf({ toolCallId, name: own, title, kind, rawInput, _meta })
}

/** Returns the fields whose value is not null. */
function withoutNulls(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}
