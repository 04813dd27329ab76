import type { LocalOutput } from '@reply/core/source'
import { block, type ToolUpdate, toolContent } from './schema.ts'

type ToolOutput = Extract<LocalOutput, { readonly type: 'tool' }>
type Fields = Readonly<Record<string, unknown>>

/** A tool call as its updates have told it so far. */
export interface Call extends ToolUpdate {
  /** The tool's name, from the first update. */
  readonly tool: string
  /** The session of the sub-agent that it started. Only a preset knows it. */
  readonly childID?: string | undefined
  /** What its command has printed, of agents that tell it beside the protocol. */
  readonly printed?: string | undefined
  /** What the terminals in its content show, by their ids. Stays when they are released. */
  readonly terminals?: Readonly<Record<string, string>> | undefined
}

/** For calls that don't name their tool: names that say what the kind does. */
const toolByKind: Readonly<Record<string, string>> = {
  read: 'read',
  edit: 'edit',
  search: 'grep',
  execute: 'bash',
  fetch: 'webfetch',
}

/** Adds an update to what is known of a call. Fields that it leaves out stay. */
export function merged(known: Call | undefined, update: ToolUpdate): Call {
  const said = Object.entries(update).filter(([, value]) => value !== undefined && value !== null)
  const base: Call = known ?? { ...update, tool: toolOf(update) }
  const printed = printedIn(update)
  return { ...base, ...Object.fromEntries(said), ...(printed && { printed: `${base.printed ?? ''}${printed}` }) }
}

/** Codex's agent appends a command's output in `_meta`, and its result has the exit code alone: codex-acp 2.6. */
function printedIn({ _meta }: ToolUpdate): string | undefined {
  const delta = isFields(_meta?.terminal_output_delta) ? _meta.terminal_output_delta.data : undefined
  return typeof delta === 'string' ? delta : undefined
}

/** The terminals that the call shows. */
export function terminalsOf({ content }: Call): readonly string[] {
  return itemsOf(content).flatMap((item) => (item.type === 'terminal' ? [item.terminalId] : []))
}

/** The call with what its terminals show now. `textOf` is undefined for one that is not open here. */
export function withTerminals(call: Call, textOf: (terminalID: string) => string | undefined): Call {
  const shown = terminalsOf(call).flatMap((id) => {
    const text = textOf(id) ?? call.terminals?.[id]
    return text === undefined ? [] : [[id, text] as const]
  })
  return shown.length === 0 ? call : { ...call, terminals: Object.fromEntries(shown) }
}

export function hasEnded({ status }: Call): boolean {
  return status === 'completed' || status === 'failed'
}

/**
 * The call that a permission is about. The request may leave out arguments that the call's own updates told, and says
 * `pending` of a call that waits for it.
 */
export function askedCall(known: Call | undefined, request: ToolUpdate): Call {
  if (!known) return merged(undefined, request)
  const { title = request.title, kind = request.kind } = known
  const rawInput = isEmpty(known.rawInput) ? request.rawInput : known.rawInput
  const content = isEmpty(known.content) ? request.content : known.content
  return { ...known, title, kind, rawInput, content }
}

/** The call of a permission that a person rejected: some agents say nothing more of it. */
export function rejectedCall(call: Call): Call {
  return { ...call, status: 'failed', rawOutput: { error: 'A person rejected the call.' } }
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/**
 * OpenCode names the tool in the first title, and sends arguments; a title without arguments may be a command. Claude's
 * agent names the tool in `_meta` and, since 0.101, in `name`, both with a capital.
 */
function toolOf({ name, title, kind, rawInput, _meta }: ToolUpdate): string {
  const claude = isFields(_meta?.claudeCode) ? _meta.claudeCode.toolName : undefined
  if (typeof claude === 'string') return claude.toLowerCase()
  if (typeof name === 'string') return name
  if (title && isFields(rawInput) && /^[a-z]\w*$/.test(title)) return title
  return toolByKind[kind ?? ''] ?? kind ?? 'other'
}

/** The call as a part's output. `waits` is set while it waits for a permission, which some agents call pending. */
export function outputOf(call: Call, waits = false): ToolOutput {
  const status = call.status === 'pending' && waits ? 'running' : statusOf(call.status)
  const { title, kind, locations, content, childID } = call
  const printed = printedBy(call)
  const own = isFields(call.rawOutput) && isFields(call.rawOutput.metadata) ? call.rawOutput.metadata : {}
  // A session that is not shown here must not be taken for a sub-agent at work.
  const { sessionId: _, sessionID: __, ...metadata } = own
  const said = {
    ...metadata,
    sessionId: childID,
    kind: kind ?? undefined,
    locations: listOf(locations),
    content: listOf(content),
    ...(printed !== undefined && { output: printed }),
  }
  return {
    type: 'tool',
    callID: call.toolCallId,
    tool: call.tool,
    raw: call,
    state: {
      status,
      input: inputOf(call),
      title: title && title !== call.tool ? title : undefined,
      output: status === 'completed' ? resultOf(call) : undefined,
      error: status === 'error' ? (errorOf(call) ?? 'The call failed.') : undefined,
      metadata: Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)),
    },
  }
}

function statusOf(status: string | null | undefined): ToolOutput['state']['status'] {
  if (status === 'completed') return 'completed'
  if (status === 'failed') return 'error'
  return status === 'in_progress' ? 'running' : 'pending'
}

/**
 * The arguments. An agent that doesn't send them tells people in the title and the content what the call does: then
 * those are what a permission shows.
 */
function inputOf({ rawInput, title, content }: Call): Fields {
  if (isFields(rawInput)) return rawInput
  if (rawInput !== undefined && rawInput !== null) return { input: rawInput }
  const changes = itemsOf(content).flatMap((item) => (item.type === 'diff' ? [item] : []))
  const words = textsOf(content)
  return {
    ...(title && { title }),
    ...(words !== '' && { content: words }),
    ...(changes.length > 0 && { changes }),
  }
}

/** What its command has printed, in terminals of this program or beside the protocol. */
function printedBy({ printed, terminals }: Call): string | undefined {
  return terminals ? Object.values(terminals).join('\n') : printed
}

function resultOf(call: Call): string {
  const { rawOutput, content } = call
  const printed = printedBy(call)
  if (printed !== undefined) return printed
  if (typeof rawOutput === 'string') return rawOutput
  if (isFields(rawOutput) && typeof rawOutput.output === 'string') return rawOutput.output
  const words = textsOf(content)
  if (words !== '' || rawOutput === undefined || rawOutput === null) return words
  return JSON.stringify(rawOutput)
}

function errorOf({ rawOutput, content }: Call): string | undefined {
  if (isFields(rawOutput) && typeof rawOutput.error === 'string') return rawOutput.error
  return textsOf(content) || (typeof rawOutput === 'string' && rawOutput) || undefined
}

function itemsOf(content: Call['content']) {
  return (content ?? []).flatMap((item) => toolContent.safeParse(item).data ?? [])
}

function textsOf(content: Call['content']): string {
  return itemsOf(content)
    .flatMap((item) => (item.type === 'content' ? (textOf(item.content) ?? fileOf(item.content)?.url ?? []) : []))
    .join('\n')
}

function listOf(list: readonly unknown[] | null | undefined): readonly unknown[] | undefined {
  return list && list.length > 0 ? list : undefined
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text of a content block. Undefined if it is of another type. */
export function textOf(content: { readonly type: string }): string | undefined {
  return content.type === 'text' ? block.text.safeParse(content).data?.text : undefined
}

/** What a content block shows or links to. Undefined for a text, and for what has no place in a reply. */
export function fileOf(content: {
  readonly type: string
}): { readonly mime: string; readonly url: string; readonly filename?: string | undefined } | undefined {
  switch (content.type) {
    case 'image':
    case 'audio': {
      const { data } = block.audio.safeParse(content)
      return data && { mime: data.mimeType, url: `data:${data.mimeType};base64,${data.data}` }
    }
    case 'resource_link': {
      const { data } = block.resource_link.safeParse(content)
      return (
        data && { mime: data.mimeType ?? 'application/octet-stream', url: data.uri, filename: data.name ?? undefined }
      )
    }
    case 'resource': {
      const { data } = block.resource.safeParse(content)
      return data && { mime: data.resource.mimeType ?? 'text/plain', url: data.resource.uri }
    }
    default:
      return undefined
  }
}
