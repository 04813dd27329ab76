import { basename } from 'node:path'
import { byteSize } from '@reply/core/show'
import type { LocalFile, LocalOutput } from '@reply/core/source'
import { mcpFiles, mcpText } from '../../codex/decode/content.ts'
import { block, openCodeFile, type ToolUpdate, toolContent } from './schema.ts'

type ToolOutput = Extract<LocalOutput, { readonly type: 'tool' }>
type Fields = Readonly<Record<string, unknown>>

/** A tool call, merged from its updates so far. */
export interface Call extends ToolUpdate {
  /** The tool's name, from the first update. */
  readonly tool: string
  /** The session of the sub-agent that it started. */
  readonly childID?: string | undefined
  /** Whether that sub-agent goes on after the run. */
  readonly isBackground?: boolean | undefined
  /** The output of its command, from agents that send it outside the protocol. */
  readonly printed?: string | undefined
  /** The texts of the terminals in its content, by terminal id. Kept after their release. */
  readonly terminals?: Readonly<Record<string, string>> | undefined
}

/** The tool names of calls that only have a kind. */
const toolByKind: Readonly<Record<string, string>> = {
  read: 'read',
  edit: 'edit',
  search: 'grep',
  execute: 'bash',
  fetch: 'webfetch',
}

/**
 * Merges an update of version 1 into a call. Fields that the update leaves out, or that are null, stay. The tool's name is
 * that of the first update. What a command prints is appended. Without a call, the update is the call.
 */
export function mergedCall(known: Call | undefined, update: ToolUpdate): Call {
  const present = Object.entries(update).filter(([, value]) => value !== undefined && value !== null)
  const base: Call = known ?? { ...update, tool: toolOf(update) }
  const printed = printedIn(update)
  return { ...base, ...Object.fromEntries(present), ...(printed && { printed: `${base.printed ?? ''}${printed}` }) }
}

/**
 * Returns the output that an update appends. Codex's agent sends a command's output as deltas in `_meta`, and its result only
 * has the exit code (codex-acp 2.6). Undefined if it has none.
 */
function printedIn({ _meta }: ToolUpdate): string | undefined {
  const delta = isFields(_meta?.terminal_output_delta) ? _meta.terminal_output_delta.data : undefined
  return typeof delta === 'string' ? delta : undefined
}

/** Returns the ids of the terminals in the call's content. Empty if it shows none. */
export function terminalsOf({ content }: Call): readonly string[] {
  return itemsOf(content).flatMap((item) => (item.type === 'terminal' ? [item.terminalId] : []))
}

/**
 * Returns the call with the current text of its terminals. A terminal that is not open keeps its last text. The same call if
 * none has a text. `textOf` returns undefined for a terminal that is not open here.
 */
export function withTerminals(call: Call, textOf: (terminalID: string) => string | undefined): Call {
  const shown = terminalsOf(call).flatMap((id) => {
    const text = textOf(id) ?? call.terminals?.[id]
    return text === undefined ? [] : [[id, text] as const]
  })
  return shown.length === 0 ? call : { ...call, terminals: Object.fromEntries(shown) }
}

/** Whether its status is completed or failed. */
export function hasEnded({ status }: Call): boolean {
  return status === 'completed' || status === 'failed'
}

/**
 * The call of a permission request, with the content of the request and of the earlier updates, because everything that is
 * allowed must be shown. The arguments of the call count, because OpenCode 1.18 has others in its request: a path and a diff,
 * which are in the content too. The request may call a waiting call `pending`.
 */
export function askedCall(known: Call | undefined, request: ToolUpdate): Call {
  if (!known) return mergedCall(undefined, request)
  const { title = request.title, kind = request.kind } = known
  const rawInput = isEmpty(known.rawInput) ? request.rawInput : known.rawInput
  return { ...known, title, kind, rawInput, content: askedContent(known.content, request.content) }
}

/**
 * Returns the content of a call, followed by those items of its permission request that the call has not. The same list if
 * there are none.
 */
export function askedContent(known: Call['content'], asked: Call['content']): Call['content'] {
  const shown = new Set((known ?? []).map((item) => JSON.stringify(item)))
  const more = (asked ?? []).filter((item) => !shown.has(JSON.stringify(item)))
  return more.length === 0 ? known : [...(known ?? []), ...more]
}

/** Returns the call as failed, because a person rejected it. Some agents send no further update for it. */
export function rejectedCall(call: Call): Call {
  return { ...call, status: 'failed', rawOutput: { error: 'A person rejected the call.' } }
}

/** Whether a value is undefined, null, or an object or list without entries. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/**
 * Returns the name of a call's tool: that of Claude's agent in `_meta`, in small letters, else its own name, else that of an
 * MCP server's tool, else its title if that is one word with arguments, as OpenCode sends it, else the name for its kind, else
 * its kind or `other`. A title without arguments may be a command.
 */
export function toolOf(update: ToolUpdate): string {
  const { name, title, kind, rawInput, _meta } = update
  const claude = isFields(_meta?.claudeCode) ? _meta.claudeCode.toolName : undefined
  if (typeof claude === 'string') return claude.toLowerCase()
  if (typeof name === 'string') return name
  const mcp = mcpToolOf(update)
  if (mcp !== undefined) return mcp
  if (title && isFields(rawInput) && /^[a-z]\w*$/.test(title)) return title
  return toolByKind[kind ?? ''] ?? kind ?? 'other'
}

/**
 * Returns the name of an MCP server's tool with its server's: Codex's agent (2.6) sends both in the arguments, Qwen Code (0.24) the
 * name in `_meta`, Kimi Code (2.1) as the title, and Gemini CLI (0.61) both in the title. Undefined for other tools.
 */
function mcpToolOf({ title, rawInput, _meta }: ToolUpdate): string | undefined {
  if (_meta?.is_mcp_tool_call === true && isFields(rawInput)) {
    const { server, tool } = rawInput
    if (typeof server === 'string' && typeof tool === 'string') return `${server}_${tool}`
  }
  if (_meta?.provenance === 'mcp' && typeof _meta.toolName === 'string') return _meta.toolName
  const [, tool, server] = /^(\S+) \((\S+) MCP Server\)$/.exec(title ?? '') ?? []
  if (tool !== undefined && server !== undefined) return `${server}_${tool}`
  return title && /^mcp__\w/.test(title) && !/\s/.test(title) ? title : undefined
}

/**
 * Returns the call as a tool part. One that started a sub-agent is the tool `task`. Output, error and files are only there
 * at its end. With `awaitsPermission`, it waits for a permission: some agents call that status pending, and it is running then.
 */
export function outputOf(call: Call, awaitsPermission = false): ToolOutput {
  const status = call.status === 'pending' && awaitsPermission ? 'running' : statusOf(call.status)
  const { title, kind, locations, content, childID, isBackground } = call
  const printed = printedBy(call)
  const own = isFields(call.rawOutput) && isFields(call.rawOutput.metadata) ? call.rawOutput.metadata : {}
  // Otherwise a session that is not shown here would look like a running sub-agent.
  const { sessionId: _, sessionID: __, ...metadata } = own
  const shown = {
    ...metadata,
    sessionId: childID,
    background: isBackground === true ? true : undefined,
    kind: kind ?? undefined,
    locations: listOf(locations),
    content: listOf(content),
    ...(printed !== undefined && { output: printed }),
  }
  return {
    type: 'tool',
    callID: call.toolCallId,
    // Only this tool is shown with its sub-agent.
    tool: childID === undefined ? call.tool : 'task',
    raw: call,
    files: hasEnded(call) ? filesOf(call) : [],
    state: {
      status,
      input: inputOf(call),
      title: title && title !== call.tool ? title : undefined,
      output: status === 'completed' ? resultOf(call) : undefined,
      error: status === 'error' ? (errorOf(call) ?? 'The call failed.') : undefined,
      metadata: Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)),
    },
  }
}

/** Returns the status of a tool part. Anything but completed, failed and in progress is pending. */
function statusOf(status: string | null | undefined): ToolOutput['state']['status'] {
  if (status === 'completed') return 'completed'
  if (status === 'failed') return 'error'
  return status === 'in_progress' ? 'running' : 'pending'
}

/**
 * Returns the arguments of a call. A text, a number or a list becomes the field `input`. An agent that doesn't send arguments
 * describes the call in the title and the content, so a permission shows those: `title`, `content` and `changes`.
 */
function inputOf({ rawInput, title, content }: Call): Fields {
  if (isFields(rawInput)) return rawInput
  if (rawInput !== undefined && rawInput !== null) return { input: rawInput }
  const changes = itemsOf(content).flatMap((item) => (item.type === 'diff' ? [item] : []))
  const text = textsOf(content)
  return {
    ...(title && { title }),
    ...(text !== '' && { content: text }),
    ...(changes.length > 0 && { changes }),
  }
}

/**
 * Returns the output of a call's command: the texts of its terminals, one below the other, else what the agent sent outside
 * the protocol. Undefined if the call has neither.
 */
function printedBy({ printed, terminals }: Call): string | undefined {
  return terminals ? Object.values(terminals).join('\n') : printed
}

/**
 * Returns the output of a completed call: what its command printed, else its raw output if that is a text or has one as
 * `output`, else the texts of its content, else the raw output as JSON. Empty without any of them.
 */
function resultOf(call: Call): string {
  const { rawOutput, content } = call
  const printed = printedBy(call)
  if (printed !== undefined) return printed
  if (typeof rawOutput === 'string') return rawOutput
  const result = mcpResultOf(call)
  if (result) return mcpText(result.content, result.structuredContent)
  if (isFields(rawOutput) && typeof rawOutput.output === 'string') return rawOutput.output
  const text = textsOf(content)
  if (text !== '' || rawOutput === undefined || rawOutput === null) return text
  return JSON.stringify(rawOutput)
}

/**
 * Returns why a call failed: the `error` of its raw output, else the texts of its content, else the raw output if that is a
 * text, else what its command printed. Undefined if all are empty.
 */
function errorOf(call: Call): string | undefined {
  const { rawOutput, content } = call
  if (isFields(rawOutput) && typeof rawOutput.error === 'string') return rawOutput.error
  const result = mcpResultOf(call)
  if (result) return mcpText(result.content, result.structuredContent) || undefined
  return textsOf(content) || (typeof rawOutput === 'string' && rawOutput) || printedBy(call) || undefined
}

/** Returns the content of a call. Items of unknown types are left out. */
function itemsOf(content: Call['content']) {
  return (content ?? []).flatMap((item) => toolContent.safeParse(item).data ?? [])
}

/**
 * Returns the texts of a call's content, one below the other. A file with content becomes its type and size, for example
 * `[image/png, 12 kB]`, and a link its address. Diffs and terminals are left out.
 */
function textsOf(content: Call['content']): string {
  return itemsOf(content)
    .flatMap((item) => (item.type === 'content' ? (textIn(item.content) ?? labelOf(item.content) ?? []) : []))
    .join('\n')
}

/**
 * Returns the type and size of a file with content, and the address of any other file. Undefined for content without a
 * file.
 */
function labelOf(content: { readonly type: string }): string | undefined {
  const file = fileOf(content)
  const data = file && /^data:[^,]*;base64,(.*)$/s.exec(file.url)?.[1]
  return data === undefined ? file?.url : `[${file?.mime}, ${byteSize(Buffer.byteLength(data, 'base64'))}]`
}

/** Returns the result of an MCP server, which Codex's agent (2.6) passes on in the raw output. Undefined without one. */
function mcpResultOf({ rawOutput, _meta }: Call): Fields | undefined {
  if (_meta?.is_mcp_tool_call !== true || !isFields(rawOutput)) return undefined
  return isFields(rawOutput.result) ? rawOutput.result : undefined
}

/**
 * Returns the files in the content of a call, in its order, then those of an MCP server's result, and those in the metadata of
 * OpenCode's own result: it drops links, and passes on the metadata of `send_file`.
 */
function filesOf(call: Call): readonly LocalFile[] {
  const { content, rawOutput } = call
  const metadata = isFields(rawOutput) && isFields(rawOutput.metadata) ? rawOutput.metadata : {}
  const linked: readonly unknown[] = Array.isArray(metadata.attachments) ? metadata.attachments : []
  return [
    ...itemsOf(content).flatMap((item) => (item.type === 'content' ? (fileOf(item.content) ?? []) : [])),
    ...mcpFiles(mcpResultOf(call)?.content),
    ...linked.flatMap((file) => openCodeFile.safeParse(file).data ?? []),
  ]
}

/** Returns the list. Undefined if it is empty or absent. */
function listOf(list: readonly unknown[] | null | undefined): readonly unknown[] | undefined {
  return list && list.length > 0 ? list : undefined
}

/** Whether a value is an object, but not a list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text of a content block. Undefined if it is of another type. */
export function textIn(content: { readonly type: string }): string | undefined {
  return content.type === 'text' ? block.text.safeParse(content).data?.text : undefined
}

/**
 * Returns the file that a content block contains or links to. The address of a file with content is a `data:` URL, and its
 * own address names it. Undefined for text, for unknown types, and for malformed blocks.
 */
export function fileOf(content: { readonly type: string }): LocalFile | undefined {
  switch (content.type) {
    case 'image':
    case 'audio': {
      const { data } = block.audio.safeParse(content)
      return data && dataFile(data.mimeType, data.data, data.uri)
    }
    case 'resource_link': {
      const { data } = block.resource_link.safeParse(content)
      if (!data) return undefined
      const { uri: url, name, description, mimeType, size } = data
      const mime = mimeType ?? 'application/octet-stream'
      return { mime, url, filename: name ?? undefined, size: size ?? undefined, caption: description ?? undefined }
    }
    case 'resource': {
      const { data } = block.resource.safeParse(content)
      if (!data) return undefined
      const { uri, mimeType, text, blob } = data.resource
      if (typeof blob === 'string') return dataFile(mimeType ?? 'application/octet-stream', blob, uri)
      return dataFile(mimeType ?? 'text/plain', Buffer.from(text ?? '').toString('base64'), uri)
    }
    default:
      return undefined
  }
}

/** Returns a file with its content in Base64. The end of its address is its name. */
function dataFile(mime: string, data: string, uri: string | null | undefined): LocalFile {
  return { mime, url: `data:${mime};base64,${data}`, filename: uri ? basename(uri) : undefined }
}
