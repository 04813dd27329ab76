import type { AskCall, PermissionAsk } from '../ask.ts'
import { type Fields, same, textIn } from '../fields.ts'
import { escapeDeceptive } from '../text/escape-deceptive.ts'
import { type CallPath, callPathOf } from './call-path.ts'
import { editDetails } from './edit.ts'
import { isShellTool } from './tool-name.ts'

/** One piece of the call behind a permission. */
export interface AskDetail {
  /** A short English heading, for example `File`, `Also` or the field's own name. Empty if the text needs none. */
  readonly label: string
  /** `code`: show verbatim. `diff`: lines begin with `+`, `-` or a space. `text`: everything else. */
  readonly format: 'code' | 'diff' | 'text'
  /** Set for `code` only, for example `bash`. */
  readonly language?: string | undefined
  /** Never empty, never clipped. Deceptive characters are escaped, see `escapeDeceptive`. */
  readonly text: string
}

/** The details made for the input of one kind of tool, and the input fields that they cover. */
export interface ToolDetails {
  readonly details: readonly AskDetail[]
  readonly covered: readonly string[]
  /** Metadata strings that add nothing to the details. */
  readonly coveredMetadata?: readonly string[] | undefined
}

/**
 * Title of a permission, one line of at most 120 UTF-16 units, for example `bash`, `bash in packages/web`, `edit:
 * src/a.ts`, `read outside the project: /etc/*`. Paths in the ask's directory are relative to it. The rest is in
 * `askDetails`.
 */
export function askTitle(ask: PermissionAsk): string {
  return describeAsk(ask).title
}

/**
 * The whole call behind a permission, in reading order, to show below its `askTitle`. Undefined if the call is unknown
 * or its values are nested deeper than 256 levels: don't offer to allow it then. Empty if the title has everything.
 *
 * Complete: title and texts contain every string of the call's input, escaped by `escapeDeceptive`, line by line. They
 * also contain every string of the metadata, except diffs that only repeat the input. A path is not repeated in another
 * form, nor are the lines of a diff that name its file. Patterns are added if no other text contains them.
 */
export function askDetails(ask: PermissionAsk): readonly AskDetail[] | undefined {
  return describeAsk(ask).details
}

interface AskDescription {
  readonly title: string
  readonly details: readonly AskDetail[] | undefined
}

const descriptions = new WeakMap<PermissionAsk, AskDescription>()

/**
 * The title and the details of an ask. The details are undefined if its call is unknown, or its values are nested too
 * deeply. Computed once per state of an ask: every repaint needs it.
 */
function describeAsk(ask: PermissionAsk): AskDescription {
  const cached = descriptions.get(ask)
  if (cached) return cached
  const { call, metadata } = ask
  const description =
    call && isShallow(call.input) && isShallow(metadata)
      ? describeKnownCall(ask, call)
      : {
          title: fittingTitle(actionOf(ask), ask.patterns.join(', ') || (isTitleDerived(ask) ? '' : ask.title)),
          details: undefined,
        }
  descriptions.set(ask, description)
  return description
}

/**
 * The title and the details of an ask whose call is known. The title has the action and, if it fits, the file, folder
 * or server's title. The details have everything else that would run or that the server says about it. See
 * `askDetails`.
 */
function describeKnownCall(ask: PermissionAsk, call: AskCall): AskDescription {
  const { metadata, patterns } = ask
  const { tool, input } = call
  const action = actionOf(ask)
  const callPath = callPathOf(tool, input, ask.directory)
  const { details, covered, coveredMetadata = [] } = callDetailsOf(tool, input, metadata, callPath)
  const isCallPath = (text: string): boolean => callPath?.isSame(text) === true
  const serverTitle = [`${action}: `, `${ask.permission}: `].reduce(withoutPrefix, ask.title)
  const isRepeated =
    isTitleDerived(ask) || isCallPath(serverTitle) || isShownIn(serverTitle, [action, ...textsOf(details)])
  const ownTitle = isRepeated ? '' : serverTitle
  const where = isOutsideProject(ask) ? patterns.join(', ') : callPath?.shown || ownTitle
  const isFolder = callPath?.isFolder === true && where === callPath.shown && !isOutsideProject(ask)
  const title = fittingTitle(action, where, isFolder)
  const hasWhere = title === untruncatedTitle(action, where, isFolder)
  const isOwnShown = ownTitle === '' || (hasWhere && where === ownTitle)
  const isPathShown = callPath === undefined || callPath.shown === '' || (hasWhere && !isOutsideProject(ask))
  const leading = [
    ...(title.startsWith(escapeDeceptive(action)) ? [] : textDetail('Tool', action)),
    ...(isOwnShown ? [] : textDetail('Title', ownTitle)),
    ...(isPathShown ? [] : textDetail(callPath.isFolder ? 'Directory' : 'File', callPath.shown)),
  ]
  const known = new Set([...stringsIn(input), ...coveredMetadata, ...patterns.filter((pattern) => pattern !== '*')])
  const seen = [title, ...textsOf(leading), ...textsOf(details)]
  const isKnown = (leaf: string): boolean =>
    known.has(leaf) || (leaf.startsWith('/') && (isCallPath(leaf) || isShownIn(leaf, seen)))
  const otherInput = Object.entries(input).filter(
    ([name, value]) => !covered.includes(name) && name !== callPath?.field && !(value === ownTitle && isOwnShown),
  )
  const otherMetadata = Object.entries(metadata).flatMap(([name, value]) => {
    const more = same(value, input[name]) ? undefined : withoutKnownStrings(value, isKnown)
    return more === undefined ? [] : [[name, more] as const]
  })
  const all = [...leading, ...details, ...fieldDetails([...otherInput, ...otherMetadata], details.length > 0)]
  const unshownPatterns = patterns.filter(
    (pattern) => pattern !== '*' && !isCallPath(pattern) && !isShownIn(pattern, [title, ...textsOf(all)]),
  )
  return { title, details: [...textDetail('Patterns', unshownPatterns.join('\n')), ...all] }
}

/**
 * Details that are laid out by the kind of tool: commands, edits, addresses and plans. None for any other tool.
 * `describeKnownCall` lists the fields that they don't cover.
 */
function callDetailsOf(tool: string, input: Fields, metadata: Fields, callPath: CallPath | undefined): ToolDetails {
  if (isShellTool(tool)) return commandDetails(input)
  switch (tool) {
    case 'edit':
    case 'multiedit':
    case 'write':
    case 'apply_patch':
    case 'patch':
      return editDetails(input, metadata, callPath)
    case 'webfetch':
      return { details: textDetail('', textIn(input.url)), covered: isNonEmptyString(input.url) ? ['url'] : [] }
    // Claude Code ends its planning with it.
    case 'ExitPlanMode':
      return { details: textDetail('Plan', textIn(input.plan)), covered: isNonEmptyString(input.plan) ? ['plan'] : [] }
    default:
      return { details: [], covered: [] }
  }
}

/** The command as code. No details if the input has none. */
function commandDetails({ command }: Fields): ToolDetails {
  if (!isNonEmptyString(command)) return { details: [], covered: [] }
  return {
    details: [{ label: '', format: 'code', language: 'bash', text: escapeDeceptive(command) }],
    covered: ['command'],
  }
}

/**
 * The tool, with the permission if they differ, for example `bash outside the project` or `the same bash again`.
 * OpenCode also asks for `edit` before it writes a file.
 */
function actionOf({ permission, call }: PermissionAsk): string {
  const tool = call?.tool ?? permission
  if (permission === 'external_directory') return `${call?.tool ?? 'access'} outside the project`
  if (permission === 'doom_loop') return `the same ${call?.tool ?? 'call'} again`
  const isSame = tool === permission || (isShellTool(tool) && isShellTool(permission))
  return isSame || permission === '' || permission === 'edit' ? tool : `${tool} (${permission})`
}

/** Whether the permission is for a folder outside the project. */
function isOutsideProject({ permission }: PermissionAsk): boolean {
  return permission === 'external_directory'
}

/** Whether the server made the title from the permission and its patterns, which are shown anyway. */
function isTitleDerived({ title, permission, patterns }: PermissionAsk): boolean {
  return title === permission || title === `${permission}: ${patterns.join(', ')}`
}

/** The text without the prefix. The same text if it doesn't begin with it. */
function withoutPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text
}

/** UTF-16 units of a title. */
const titleLength = 120

/**
 * The title of an ask in one line: the action with its place if both fit, else the action alone, truncated if
 * necessary.
 */
function fittingTitle(action: string, where: string, isFolder = false): string {
  const name = escapeDeceptive(action)
  const titles = [untruncatedTitle(action, where, isFolder), name]
  return (
    titles.find(fitsInOneLine) ??
    `${name
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, titleLength - 1)}…`
  )
}

/** The action, then the place if there is one, both escaped. */
function untruncatedTitle(action: string, where: string, isFolder: boolean): string {
  return where === ''
    ? escapeDeceptive(action)
    : `${escapeDeceptive(action)}${isFolder ? ' in' : ':'} ${escapeDeceptive(where)}`
}

/** Whether the text fits in one line without losing spaces. */
function fitsInOneLine(text: string): boolean {
  return text.length <= titleLength && /^\S+(?: \S+)*$/.test(text)
}

function textsOf(details: readonly AskDetail[]): readonly string[] {
  return details.map(({ text }) => text)
}

/** Whether one of the escaped texts contains this text. */
function isShownIn(text: string, shown: readonly string[]): boolean {
  const written = escapeDeceptive(text)
  return shown.some((one) => one.includes(written))
}

/**
 * Makes the details of fields that no other detail shows: one of all short fields, and then one of each text of several
 * lines. Skips empty strings. Field names are made readable, unless two would become the same. `isMore` is whether
 * other details precede these.
 */
function fieldDetails(fields: readonly (readonly [string, unknown])[], isMore: boolean): readonly AskDetail[] {
  const present = fields.filter(([, value]) => value !== undefined && value !== '')
  const names = present.map(([name]) => readableName(name))
  const named = present.map(
    ([name, value]) => [new Set(names).size === names.length ? readableName(name) : name, value] as const,
  )
  const isLong = ([, value]: readonly [string, unknown]): boolean => isNonEmptyString(value) && value.includes('\n')
  const short = named.filter((field) => !isLong(field))
  return [
    ...textDetail(isMore ? 'Also' : '', outlineOf(short)),
    ...named.filter(isLong).flatMap(([name, value]) => textDetail(escapeDeceptive(name), textIn(value))),
  ]
}

/** "Replace all" for `replaceAll`. Names that aren't made of words stay as they are. */
function readableName(field: string): string {
  if (!/^[a-z]+(?:_[a-z]+|[A-Z][a-z]+)*$/.test(field)) return field
  const spaced = field.replace(/_|(?=[A-Z])/g, ' ').toLowerCase()
  return `${spaced.charAt(0).toUpperCase()}${spaced.slice(1)}`
}

/** Makes a detail of a text. Returns an empty list for an empty text. */
function textDetail(label: string, text: string): readonly AskDetail[] {
  return text === '' ? [] : [{ label, format: 'text', text: escapeDeceptive(text) }]
}

function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Deeper values are unreadable for a person, and the limit bounds the recursion. */
const maxDepth = 256

/** Deeper lines are not indented further: the text would grow with the square of the depth. */
const maxIndent = 16

/** Whether nothing in a value is nested too deeply to be shown. */
function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth < maxDepth && Object.values(value).every((item) => isShallow(item, depth + 1))
}

/** Every string in a value, at any depth, without keys. */
function stringsIn(value: unknown): readonly string[] {
  const leaves: string[] = []
  collectStrings(value, leaves)
  return leaves
}

/** Appends every string in a value to `leaves`, at any depth, without keys. */
function collectStrings(value: unknown, leaves: string[]): void {
  if (typeof value === 'string') leaves.push(value)
  else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) collectStrings(item, leaves)
}

/**
 * Removes the known and the empty strings from a value, and keeps everything else, so that metadata that only repeats
 * the input isn't shown again. Undefined for a list or an object without any other string, for a known string, and for
 * null.
 */
function withoutKnownStrings(value: unknown, isKnown: (leaf: string) => boolean): unknown {
  if (typeof value === 'string') return value === '' || isKnown(value) ? undefined : value
  if (typeof value !== 'object' || value === null) return value ?? undefined
  if (!stringsIn(value).some((leaf) => leaf !== '' && !isKnown(leaf))) return undefined
  if (Array.isArray(value))
    return value.map((item) => withoutKnownStrings(item, isKnown)).filter((item) => item !== undefined)
  const fields = Object.entries(value).map(([name, item]) => [name, withoutKnownStrings(item, isKnown)] as const)
  return Object.fromEntries(fields.filter(([, item]) => item !== undefined))
}

/**
 * Fields as an outline with one field or item per line. Strings are verbatim, and quoted only if they would be read as
 * something else. Multi-line strings are indented.
 */
function outlineOf(fields: readonly (readonly [name: string, value: unknown])[]): string {
  const lines: string[] = []
  appendOutline(labelledFields(fields), 0, lines)
  return lines.join('\n')
}

type Labelled = readonly (readonly [label: string, value: unknown])[]

/**
 * Appends one line for each entry to `lines`, and the lines of a multi-line string or of the values in it, indented.
 */
function appendOutline(entries: Labelled, depth: number, lines: string[]): void {
  const indent = '  '.repeat(Math.min(depth, maxIndent))
  for (const [name, item] of entries) {
    if (isNonEmptyObject(item)) {
      lines.push(`${indent}${name}`)
      const inner = Array.isArray(item)
        ? item.map((value) => ['-', value] as const)
        : labelledFields(Object.entries(item))
      appendOutline(inner, depth + 1, lines)
    } else if (typeof item === 'string' && item.includes('\n')) {
      lines.push(`${indent}${name} |`, ...item.split('\n').map((line) => `${indent}  ${line}`))
    } else lines.push(`${indent}${name} ${scalarText(item)}`)
  }
}

/** Makes labels of the keys, and drops undefined values. Quotes a key that would be mistaken for more than a label. */
function labelledFields(fields: readonly (readonly [string, unknown])[]): Labelled {
  const present = fields.filter(([, item]) => item !== undefined)
  return present.map(([key, item]) => [`${/[\n:]/.test(key) ? JSON.stringify(key) : key}:`, item] as const)
}

/**
 * Writes a value that is not a list or an object with fields, as JSON. A string is verbatim, but quoted if it looks
 * like another value: "1" is not 1. Undefined becomes `null`.
 */
function scalarText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null'
  return /^(true|false|null|\||-?\d[\d.eE+-]*|[{[].*|".*|\s.*|.*\s|)$/.test(value) ? `"${value}"` : value
}

/** Whether the value is a list with items or an object with fields. */
function isNonEmptyObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}
