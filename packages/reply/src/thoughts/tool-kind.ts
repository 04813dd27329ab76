import type { ToolPart } from '../part.ts'
import type { ToolKind } from './thought.ts'

const kinds: Readonly<Record<ToolKind, true>> = {
  read: true,
  edit: true,
  delete: true,
  move: true,
  search: true,
  execute: true,
  think: true,
  fetch: true,
  switch_mode: true,
  other: true,
}

/** Kinds of the tools of OpenCode, Claude Code and Codex, by their lower-case names. */
const kindByTool: ReadonlyMap<string, ToolKind> = new Map([
  ['read', 'read'],
  ['list', 'read'],
  ['ls', 'read'],
  ['skill', 'read'],
  ['edit', 'edit'],
  ['multiedit', 'edit'],
  ['notebookedit', 'edit'],
  ['write', 'edit'],
  ['patch', 'edit'],
  ['apply_patch', 'edit'],
  ['glob', 'search'],
  ['grep', 'search'],
  ['codesearch', 'search'],
  ['bash', 'execute'],
  ['shell', 'execute'],
  ['exec_command', 'execute'],
  ['webfetch', 'fetch'],
  ['websearch', 'fetch'],
  ['task', 'think'],
  ['subagent', 'think'],
  ['agent', 'think'],
  ['todowrite', 'think'],
  ['todoread', 'think'],
  ['plan_enter', 'switch_mode'],
  ['plan_exit', 'switch_mode'],
  ['exitplanmode', 'switch_mode'],
])

/** The kind from the source's `metadata.kind`, otherwise from the tool's name. `other` counts as missing. */
export function toolKindOf({ tool, state }: ToolPart): ToolKind {
  const told = state.metadata?.kind
  return isKind(told) && told !== 'other' ? told : (kindByTool.get(tool.toLowerCase()) ?? 'other')
}

function isKind(value: unknown): value is ToolKind {
  return typeof value === 'string' && Object.hasOwn(kinds, value)
}
