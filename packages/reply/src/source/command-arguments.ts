import type { CommandInfo } from './server-data.ts'

/**
 * Whether a command with these arguments may have the server run a shell command, attach a file or call a sub-agent that
 * the template alone does not: without asking. OpenCode puts the arguments into the template, runs each `` !`…` `` of the
 * result, and then attaches each `@path`. What stands literally in the template is its author's. Without a template, any
 * argument may do so. https://opencode.ai/docs/commands
 */
export function mayActWithoutAsking({ template }: CommandInfo, args: string): boolean {
  if (args === '') return false
  if (template === undefined || copying.test(args)) return true
  const expanded = expandCommand(template, args)
  const shells = [...expanded.text.matchAll(shell)].map((match) => ({ match }))
  const ownShells = placesOf(shell, template)
  if (!shells.every(({ match }) => isLiteral(match, expanded, ownShells))) return true
  const references = placesOf(reference, template)
  return possibleOutputs.some((output) => {
    const prompt = replaced(expanded, shells, () => ({ text: output, origin: fromShell }))
    return [...prompt.text.matchAll(reference)].some((match) => !isLiteral(match, prompt, references))
  })
}

/** A command's prompt before its shell commands run. */
export interface ExpandedCommand {
  /** The template with the arguments in it. */
  readonly text: string
  /** For each UTF-16 unit of the text, where it stands in the template; `fromPerson` if it doesn't. */
  readonly origins: readonly number[]
}

const fromPerson = -1
const fromShell = -2

/** A shell command whose output OpenCode puts in its place. */
const shell = /!`[^`]+`/g

/**
 * At least what OpenCode takes for a file or an agent: it ends such a name sooner, at some full stops. Without a name,
 * servers up to 1.14 attach the project's folder.
 */
const reference = /(?<![\w`])@[^\s`,]*/g

/** An output may end a name, join what is around it, continue a name, or begin one. */
const possibleOutputs = ['', ' ', 'x', ' @x']

/**
 * OpenCode gives the arguments to JavaScript's `replaceAll`, where `$&` and the like copy pieces of the prompt. It puts all
 * arguments in the place of `$ARGUMENTS`, also within an argument: a long text of these would grow with its square.
 */
const copying = /\$(?:[&`']|ARGUMENTS)/

/**
 * Puts the arguments into a template, as OpenCode 1.1 to 1.18 and 2 do. `$1` is the first argument, and so on; the one
 * with the highest number takes all that is left. `$ARGUMENTS` is all of them as they were written, also if an argument
 * put it there. Without any of these, the arguments follow after an empty line.
 */
export function expandCommand(template: string, args: string): ExpandedCommand {
  const words = (args.match(/\[Image\s+\d+\]|"[^"]*"|'[^']*'|[^\s"']+/gi) ?? []).map((word) =>
    word.replace(/^["']|["']$/g, ''),
  )
  const placeholders = [...template.matchAll(/\$(\d+)/g)].map((match) => ({ match, number: Number(match[1]) }))
  const last = placeholders.reduce((most, { number }) => Math.max(most, number), 0)
  const wordsAt = (number: number): string => {
    if (number > words.length) return ''
    // `$0` is nothing that OpenCode knows; JavaScript writes it so.
    return number === last ? words.slice(number - 1).join(' ') : String(words[number - 1])
  }
  const whole = { text: template, origins: Array.from({ length: template.length }, (_, at) => at) }
  const numbered = replaced(whole, placeholders, ({ number }) => ({ text: wordsAt(number), origin: fromPerson }))
  const wholes = [...numbered.text.matchAll(/\$ARGUMENTS/g)].map((match) => ({ match }))
  const filled = replaced(numbered, wholes, () => ({ text: args.replaceAll('$$', '$'), origin: fromPerson }))
  const isNamed = placeholders.length > 0 || template.includes('$ARGUMENTS')
  return isNamed || args.trim() === '' ? filled : appended(filled, `\n\n${args}`)
}

/** Puts another text in the place of each match. */
function replaced<T extends { readonly match: RegExpExecArray }>(
  before: ExpandedCommand,
  matches: readonly T[],
  textOf: (match: T) => { readonly text: string; readonly origin: number },
): ExpandedCommand {
  const texts: string[] = []
  const origins: (readonly number[])[] = []
  let at = 0
  for (const one of matches) {
    const { index, 0: found } = one.match
    const { text, origin } = textOf(one)
    texts.push(before.text.slice(at, index), text)
    origins.push(
      before.origins.slice(at, index),
      Array.from({ length: text.length }, () => origin),
    )
    at = index + found.length
  }
  return { text: [...texts, before.text.slice(at)].join(''), origins: [...origins, before.origins.slice(at)].flat() }
}

function appended({ text, origins }: ExpandedCommand, more: string): ExpandedCommand {
  return { text: text + more, origins: [...origins, ...Array.from({ length: more.length }, () => fromPerson)] }
}

/** Where each match begins in a text, and where it ends. */
function placesOf(pattern: RegExp, text: string): ReadonlyMap<number, number> {
  return new Map([...text.matchAll(pattern)].map(({ index, 0: found }) => [index, index + found.length]))
}

/** Whether a match is one of the template's own, as a whole, or made by the output of a shell command of its own. */
function isLiteral(
  { index, 0: found }: RegExpExecArray,
  { origins }: ExpandedCommand,
  own: ReadonlyMap<number, number>,
): boolean {
  const from = origins.slice(index, index + found.length)
  if (from.includes(fromPerson)) return false
  const isJoined = from.every((origin, at) => {
    const before = from[at - 1]
    return before === undefined || before === fromShell || origin === fromShell || origin === before + 1
  })
  if (from.includes(fromShell)) return isJoined
  const [start = 0] = from
  return isJoined && own.get(start) === start + found.length
}
