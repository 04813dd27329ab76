import type { PermissionAsk } from '../ask.ts'
import { type Fields, textIn } from '../fields.ts'
import { same } from '../reduce/same.ts'
import { visible } from '../visible.ts'
import { editLayout } from './edit.ts'
import { isShallow, leavesOf, readable, without } from './readable.ts'

/** One piece of what a permission would run. */
export interface AskDetail {
  /** What it is, in a few English words: `Command`, `Change`, `URL`, or the field's own name. */
  readonly label: string
  /** `code`: to be shown verbatim. `diff`: lines that begin with `+`, `-` or a space. `text`: the rest. */
  readonly format: 'code' | 'diff' | 'text'
  /** Of code. */
  readonly language?: string | undefined
  /** Never empty, never clipped; unseen characters are written out, see `visible`. */
  readonly text: string
}

/** Details that a tool's own layout made, and the fields of the input that they tell. */
export interface Layout {
  readonly details: readonly AskDetail[]
  readonly told: readonly string[]
  /** Strings of the metadata that say nothing beyond the details. */
  readonly toldMetadata?: readonly string[] | undefined
}

/**
 * What a permission would run, in the order to read it; undefined while that is not known: without `call`, or when its
 * values are nested deeper than 256 levels.
 *
 * It is whole: every string of the call's input is in the texts, as `visible` writes it, each of its lines on a line of
 * its own; so is every string of the metadata, but for diffs that only repeat the input. Patterns are told where the
 * rest does not have them.
 */
export function askDetails(ask: PermissionAsk): readonly AskDetail[] | undefined {
  const { call, metadata } = ask
  if (!call || !isShallow(call.input) || !isShallow(metadata)) return undefined
  const { details, told, toldMetadata = [] } = layoutOf(ask, call.tool, call.input)
  const own = [...details, ...fieldDetails(call.input, new Set(told))]
  const known = new Set([...leavesOf(call.input), ...toldMetadata])
  const added = Object.entries(metadata).flatMap(([name, value]) => {
    const rest = same(value, call.input[name]) ? undefined : without(value, known)
    return rest === undefined ? [] : [[name, rest] as const]
  })
  const all = [...own, ...fieldDetails(Object.fromEntries(added), new Set())]
  const patterns = ask.patterns.filter((pattern) => !all.some(({ text }) => text.includes(visible(pattern))))
  return [...detail('Patterns', patterns.join('\n')), ...all, ...(all.length === 0 ? detail('Tool', call.tool) : [])]
}

function layoutOf({ metadata }: PermissionAsk, tool: string, input: Fields): Layout {
  switch (tool) {
    case 'bash':
      return bashLayout(input)
    case 'edit':
    case 'multiedit':
    case 'write':
    case 'apply_patch':
    case 'patch':
      return editLayout(input, metadata)
    case 'webfetch':
      return { details: detail('URL', textIn(input.url)), told: isText(input.url) ? ['url'] : [] }
    default:
      return { details: [], told: [] }
  }
}

function bashLayout({ command, workdir }: Fields): Layout {
  const details: AskDetail[] = []
  const told: string[] = []
  if (isText(command)) {
    details.push({ label: 'Command', format: 'code', language: 'bash', text: visible(command) })
    told.push('command')
  }
  if (isText(workdir)) {
    details.push(...detail('Directory', workdir))
    told.push('workdir')
  }
  return { details, told }
}

/** Each field by its name. An empty string says nothing. */
function fieldDetails(fields: Fields, told: ReadonlySet<string>): readonly AskDetail[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    told.has(name) || value === undefined ? [] : detail(visible(name), readable(value)),
  )
}

/** Nothing for an empty text. */
function detail(label: string, text: string): readonly AskDetail[] {
  return text === '' ? [] : [{ label, format: 'text', text: visible(text) }]
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
