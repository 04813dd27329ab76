import type { Ask, PermissionAsk, QuestionAsk, Reply } from '@reply/core'
import { askTitle, howToAnswer } from './ask.ts'
import { currentQuestion, type Entry, picked } from './entry.ts'
import { givenTitle } from './label.ts'
import { clip, type Line, line, type Span, span, widthOf, wrap } from './line.ts'
import { MARKS } from './mark.ts'
import { markdown } from './markdown.ts'
import { patchLines } from './patch.ts'
import { cleanLine } from './sanitize.ts'

/** What is asked, in full, without a place to type. Without an entry, every question at once. */
export function askLines(
  ask: Ask,
  options: { width: number; reply: Reply; entry?: Entry | undefined },
): readonly Line[] {
  return ask.type === 'question' ? questionLines(ask, options) : permissionLines(ask, options)
}

/** The rows where the answer is typed: what was wrong, if anything, and the input with its cursor. */
export function inputLines(ask: Ask, entry: Entry, width: number): readonly Line[] {
  if (entry.sent) return [clip(line('  sending your answer …', 'dim'), width)]
  const question = currentQuestion(ask, entry)
  const how = question === undefined ? 'type 1, 2 or 3; a reason may follow the 3' : howToAnswer(question)
  const note = entry.note === undefined ? line(`  ${how}`, 'dim') : line(`  ${entry.note}`, 'yellow')
  const cursor: Line = [...line('  › ', 'cyan'), span(entry.input), span('█', 'dim')]
  return [...wrap(note, width, [], line('  ')), ...keepEnd(cursor, width)]
}

/** One line when it is over: what was asked and what came of it. */
export function closedLines(ask: Ask, width: number): readonly Line[] {
  if (ask.status === 'withdrawn') {
    return wrap([MARKS.withdrawn, ...line(`nobody answered: ${askTitle(ask)}`, 'dim')], width, [], line('  '))
  }
  if (ask.status === 'rejected') {
    return wrap([MARKS.denied, span(`refused: ${askTitle(ask)}`, 'yellow')], width, [], line('  '))
  }
  if (ask.type === 'permission') {
    const how = ask.reply === 'always' ? 'always allowed' : 'allowed once'
    return wrap([MARKS.done, span(`${how}: `, 'dim'), span(askTitle(ask))], width, [], line('  '))
  }
  return ask.questions.flatMap((question, index) => {
    const answer = (ask.answers?.[index] ?? []).map(cleanLine).join(', ') || 'no answer'
    const asked = cleanLine(question.question) || cleanLine(question.header)
    return wrap([MARKS.done, span(`${asked} `, 'dim'), span(`→ ${answer}`, 'bold')], width, [], line('  '))
  })
}

const DIFF_ROWS = 10

interface Options {
  readonly width: number
  readonly reply: Reply
  readonly entry?: Entry | undefined
}

function questionLines(ask: QuestionAsk, { width, reply, entry }: Options): readonly Line[] {
  const marked = entry === undefined ? [] : picked(ask, entry)
  const current = entry === undefined ? undefined : currentQuestion(ask, entry)
  const questions = current === undefined ? ask.questions : [current]
  return questions.flatMap((question) => {
    const count = ask.questions.length > 1 ? ` (${ask.questions.indexOf(question) + 1}/${ask.questions.length})` : ''
    const header = cleanLine(question.header) || 'Question'
    const title: Line = [span('? ', 'yellow', 'bold'), span(`${header}${count}`, 'bold'), ...whoAsks(ask, reply)]
    const several = question.multiple ? [line('  pick one or several', 'dim')] : []
    const own = question.custom && question.options.length > 0 ? [line('  or answer in your own words', 'dim')] : []
    return [
      clip(title, width),
      ...indent(markdown(question.question, width - 2)),
      ...several,
      ...question.options.flatMap((option, index) =>
        optionLines({ number: index + 1, ...option, marked: marked.includes(option.label) }, width),
      ),
      ...own,
    ]
  })
}

function permissionLines(ask: PermissionAsk, { width, reply, entry }: Options): readonly Line[] {
  const title: Line = [
    span('! ', 'yellow', 'bold'),
    span(`May it use ${cleanLine(ask.permission)}?`, 'bold'),
    ...whoAsks(ask, reply),
  ]
  const details = [askTitle(ask), ...ask.patterns.map(cleanLine)].filter(
    (text, index, all) =>
      text !== '' && text !== ask.permission && !all.some((other, at) => at < index && other.endsWith(text)),
  )
  const chosen = /^\d$/.test(entry?.input.trim() ?? '') ? Number(entry?.input) : 0
  const choices = [
    { label: 'once', description: 'this time only' },
    { label: 'always', description: alwaysMeans(ask) },
    { label: 'reject', description: 'a reason may follow, then the agent goes on with it in mind' },
  ]
  return [
    clip(title, width),
    ...details.flatMap((text) => wrap(line(text, 'cyan'), width, line('  '))),
    ...indent(patchLines(ask.metadata.diff, { width: width - 2, most: DIFF_ROWS })),
    ...choices.flatMap((choice, index) =>
      optionLines({ number: index + 1, ...choice, marked: chosen === index + 1 }, width),
    ),
  ]
}

function alwaysMeans(ask: PermissionAsk): string {
  const patterns = ask.always.map(cleanLine).join(', ')
  return patterns === '' || patterns === '*'
    ? `every ${cleanLine(ask.permission)} from now on`
    : `from now on: ${patterns}`
}

function optionLines(
  option: { number: number; label: string; description: string; marked: boolean },
  width: number,
): readonly Line[] {
  const lead: Span = option.marked ? span(`❯ ${option.number}. `, 'cyan') : span(`  ${option.number}. `, 'dim')
  const description = cleanLine(option.description)
  const label = span(cleanLine(option.label), ...(option.marked ? (['bold', 'cyan'] as const) : []))
  const row: Line = description === '' ? [label] : [label, span(` — ${description}`, 'dim')]
  return wrap(row, width, [lead], [span(' '.repeat(widthOf([lead])))])
}

/** Who of the sub-agents asks. Nothing if it is the agent that was prompted. */
function whoAsks(ask: Ask, reply: Reply): Line {
  let current = reply
  let name = ''
  for (const sessionID of ask.path.slice(1)) {
    const child = current.children.findLast((candidate) => candidate.reply.sessionID === sessionID)
    if (child === undefined) break
    const agent = cleanLine(child.agent ?? 'sub-agent')
    const title = givenTitle(child.title)
    name = title === undefined ? agent : `${agent}(${title})`
    current = child.reply
  }
  return name === '' ? [] : line(` · asked by ${name}`, 'dim')
}

function indent(rows: readonly Line[]): readonly Line[] {
  return rows.map((row) => (row.length === 0 ? row : [span('  '), ...row]))
}

/** A long input shows its last rows: what is being typed. */
function keepEnd(input: Line, width: number): readonly Line[] {
  return wrap(input, width, [], line('    ')).slice(-3)
}
