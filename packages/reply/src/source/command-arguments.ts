import type { CommandInfo } from './server-data.ts'

/**
 * Whether these arguments may make the server act without asking, beyond what the template does: run a shell command,
 * attach a file or call a sub-agent. The bridge refuses such a command from people who may not approve. OpenCode puts the arguments into the template, runs each `` !`…` `` of the result,
 * and then attaches each `@path`. Text of the template itself is trusted. False without arguments. True without a
 * template, and for arguments that copy pieces of the prompt. https://opencode.ai/docs/commands
 */
export function mayActWithoutAsking({ template }: CommandInfo, args: string): boolean {
  if (args === '') return false
  if (template === undefined || copyingPattern.test(args)) return true
  const expanded = expandCommand(template, args)
  const shells = [...expanded.text.matchAll(shell)].map((match) => ({ match }))
  const ownShells = matchPlaces(shell, template)
  if (!shells.every(({ match }) => isFromTemplate(match, expanded, ownShells))) return true
  const references = matchPlaces(reference, template)
  return possibleOutputs.some((output) => {
    const prompt = replaceMatches(expanded, shells, () => ({ text: output, origin: fromShell }))
    return [...prompt.text.matchAll(reference)].some((match) => !isFromTemplate(match, prompt, references))
  })
}

/** A command's prompt before its shell commands run. */
export interface ExpandedCommand {
  /** The template with its placeholders replaced. */
  readonly text: string
  /** For each UTF-16 unit of the text, its index in the template, or `fromPerson` if it isn't from there. */
  readonly origins: readonly number[]
}

const fromPerson = -1
const fromShell = -2

/** A shell command, which OpenCode replaces with its output. */
const shell = /!`[^`]+`/g

/**
 * A file or an agent. Matches at least what OpenCode matches, which ends such a name sooner, at some full stops.
 * Servers up to 1.14 attach the project's folder for an empty name.
 */
const reference = /(?<![\w`])@[^\s`,]*/g

/** A shell's output may end a name, join the text around it, continue a name, or begin one. */
const possibleOutputs = ['', ' ', 'x', ' @x']

/**
 * Arguments that copy pieces of the prompt. OpenCode passes them to JavaScript's `replaceAll`, where `$&` and the like
 * are replaced. It also replaces `$ARGUMENTS` within an argument, so a long text of these would grow quadratically.
 */
const copyingPattern = /\$(?:[&`']|ARGUMENTS)/

/**
 * Returns a template with the arguments put in, like OpenCode 1.1 to 1.18 and 2 do. `$1` is the first argument, and so
 * on. The highest number takes all remaining arguments, and a number without an argument becomes empty. Quotes group
 * words and are removed. `$ARGUMENTS` is the whole text of the arguments, even where an argument inserted it. Without
 * placeholders, the arguments follow after an empty line, unless they are blank.
 */
export function expandCommand(template: string, args: string): ExpandedCommand {
  const words = (args.match(/\[Image\s+\d+\]|"[^"]*"|'[^']*'|[^\s"']+/gi) ?? []).map((each) =>
    each.replace(/^["']|["']$/g, ''),
  )
  const placeholders = [...template.matchAll(/\$(\d+)/g)].map((match) => ({ match, number: Number(match[1]) }))
  const highest = placeholders.reduce((most, { number }) => Math.max(most, number), 0)
  /** Returns the text for a placeholder's number. Empty if there are fewer arguments. */
  const argumentAt = (number: number): string => {
    if (number > words.length) return ''
    // OpenCode has no `$0`, and JavaScript writes `undefined` for it.
    return number === highest ? words.slice(number - 1).join(' ') : String(words[number - 1])
  }
  const unfilled = { text: template, origins: Array.from({ length: template.length }, (_, at) => at) }
  const numbered = replaceMatches(unfilled, placeholders, ({ number }) => ({
    text: argumentAt(number),
    origin: fromPerson,
  }))
  const wholeArguments = [...numbered.text.matchAll(/\$ARGUMENTS/g)].map((match) => ({ match }))
  const filled = replaceMatches(numbered, wholeArguments, () => ({
    text: args.replaceAll('$$', '$'),
    origin: fromPerson,
  }))
  const hasPlaceholder = placeholders.length > 0 || template.includes('$ARGUMENTS')
  return hasPlaceholder || args.trim() === '' ? filled : appendArguments(filled, `\n\n${args}`)
}

/**
 * Returns the text with each match replaced by the text of `textOf`, whose units get the origin that it names. Matches
 * must be in order.
 */
function replaceMatches<T extends { readonly match: RegExpExecArray }>(
  before: ExpandedCommand,
  matches: readonly T[],
  textOf: (match: T) => { readonly text: string; readonly origin: number },
): ExpandedCommand {
  const texts: string[] = []
  const origins: (readonly number[])[] = []
  let at = 0
  for (const next of matches) {
    const { index, 0: found } = next.match
    const { text, origin } = textOf(next)
    texts.push(before.text.slice(at, index), text)
    origins.push(
      before.origins.slice(at, index),
      Array.from({ length: text.length }, () => origin),
    )
    at = index + found.length
  }
  return { text: [...texts, before.text.slice(at)].join(''), origins: [...origins, before.origins.slice(at)].flat() }
}

/** Returns the prompt with a text of the person at its end. */
function appendArguments({ text, origins }: ExpandedCommand, args: string): ExpandedCommand {
  return { text: text + args, origins: [...origins, ...Array.from({ length: args.length }, () => fromPerson)] }
}

/** Returns the start of each match in a text, with the index after it. */
function matchPlaces(pattern: RegExp, text: string): ReadonlyMap<number, number> {
  return new Map([...text.matchAll(pattern)].map(({ index, 0: found }) => [index, index + found.length]))
}

/**
 * Whether a match has no text of the person, and its pieces of the template follow one another there or are separated
 * by a shell's output. Without such an output, it must also be one of the template's own matches.
 */
function isFromTemplate(
  { index, 0: found }: RegExpExecArray,
  { origins }: ExpandedCommand,
  ownMatches: ReadonlyMap<number, number>,
): boolean {
  const from = origins.slice(index, index + found.length)
  if (from.includes(fromPerson)) return false
  const isJoined = from.every((origin, at) => {
    const before = from[at - 1]
    return before === undefined || before === fromShell || origin === fromShell || origin === before + 1
  })
  if (from.includes(fromShell)) return isJoined
  const [start = 0] = from
  return isJoined && ownMatches.get(start) === start + found.length
}
