import type { PermissionAsk } from '../ask.ts'
import { type Fields, textIn } from '../fields.ts'
import { same } from '../reduce/same.ts'
import { legible } from '../text/legible.ts'
import { editLayout } from './edit.ts'
import { isShallow, leavesOf, readable, without } from './readable.ts'
import { isShellTool } from './tool-name.ts'

/** One piece of what a permission would run. */
export interface AskDetail {
  /** A few English words: `Command`, `Change`, `URL`, or the field's own name. */
  readonly label: string
  /** `code`: show verbatim. `diff`: lines begin with `+`, `-` or a space. `text`: everything else. */
  readonly format: 'code' | 'diff' | 'text'
  /** Set for code only. */
  readonly language?: string | undefined
  /** Never empty, never clipped. Nothing in it can be overlooked, see `legible`. */
  readonly text: string
}

/** The details that a tool-specific layout made, and the input fields that they cover. */
export interface Layout {
  readonly details: readonly AskDetail[]
  readonly covered: readonly string[]
  /** Metadata strings that add nothing to the details. */
  readonly coveredMetadata?: readonly string[] | undefined
}

/**
 * What a permission would run, in reading order. Undefined if that is unknown: without `call`, or if its values are
 * nested deeper than 256 levels.
 *
 * Complete: the texts contain every string of the call's input, as `legible` writes it, each of its lines on a line of
 * its own. The same goes for every string of the metadata, except diffs that only repeat the input. Patterns are added
 * if no other text contains them.
 */
export function askDetails(ask: PermissionAsk): readonly AskDetail[] | undefined {
  const { call, metadata } = ask
  if (!call || !isShallow(call.input) || !isShallow(metadata)) return undefined
  const { details, covered, coveredMetadata = [] } = layoutOf(ask, call.tool, call.input)
  const own = [...details, ...fieldDetails(call.input, new Set(covered))]
  const known = new Set([...leavesOf(call.input), ...coveredMetadata])
  const added = Object.entries(metadata).flatMap(([name, value]) => {
    const rest = same(value, call.input[name]) ? undefined : without(value, known)
    return rest === undefined ? [] : [[name, rest] as const]
  })
  const all = [...own, ...fieldDetails(Object.fromEntries(added), new Set())]
  const patterns = ask.patterns.filter((pattern) => !all.some(({ text }) => text.includes(legible(pattern))))
  return [...detail('Patterns', patterns.join('\n')), ...all, ...(all.length === 0 ? detail('Tool', call.tool) : [])]
}

function layoutOf({ metadata }: PermissionAsk, tool: string, input: Fields): Layout {
  if (isShellTool(tool)) return commandLayout(input)
  switch (tool) {
    case 'edit':
    case 'multiedit':
    case 'write':
    case 'apply_patch':
    case 'patch':
      return editLayout(input, metadata)
    case 'webfetch':
      return { details: detail('URL', textIn(input.url)), covered: isText(input.url) ? ['url'] : [] }
    default:
      return { details: [], covered: [] }
  }
}

function commandLayout({ command, workdir }: Fields): Layout {
  const details: AskDetail[] = []
  const covered: string[] = []
  if (isText(command)) {
    details.push({ label: 'Command', format: 'code', language: 'bash', text: legible(command) })
    covered.push('command')
  }
  if (isText(workdir)) {
    details.push(...detail('Directory', workdir))
    covered.push('workdir')
  }
  return { details, covered }
}

/** One detail per field. Skips empty strings. */
function fieldDetails(fields: Fields, covered: ReadonlySet<string>): readonly AskDetail[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    covered.has(name) || value === undefined ? [] : detail(legible(name), readable(value)),
  )
}

/** Returns no detail for an empty text. */
function detail(label: string, text: string): readonly AskDetail[] {
  return text === '' ? [] : [{ label, format: 'text', text: legible(text) }]
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
