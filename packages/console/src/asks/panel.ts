import {
  type Ask,
  type AskDetail,
  alwaysReach,
  askDetails,
  askTitle,
  escapeInvisible,
  type PermissionAsk,
  type QuestionAsk,
  type Reply,
} from '@reply/core'
import { markdown } from '../format/markdown.ts'
import { diffLine } from '../format/patch.ts'
import { givenTitle } from '../format/reply-label.ts'
import { legibleLine, visibleLine } from '../format/sanitize.ts'
import { chop, clip, type Line, line, type Span, span, widthOf, wrap } from '../format/styled-line.ts'
import { SYMBOLS } from '../format/symbols.ts'
import { currentQuestion, type Entry, pickedOptions } from './answer-entry.ts'
import { howToAnswer, howToPermit, offerOf, summaryOf, whyNotAlways } from './ask.ts'

export interface PanelView {
  readonly width: number
  readonly reply: Reply
  /** The answer typed so far. Without it, all questions are shown at once. */
  readonly entry?: Entry | undefined
  readonly allowUnseen: boolean
}

/** Returns the rows of the full ask, without the input. */
export function askLines(ask: Ask, options: PanelView): readonly Line[] {
  return ask.type === 'question' ? questionLines(ask, options) : permissionLines(ask, options)
}

/** Returns the input rows: a hint or an error, and the input with its cursor. Once sent, one row that says so. */
export function inputLines(
  ask: Ask,
  entry: Entry,
  { width, allowUnseen }: Pick<PanelView, 'width' | 'allowUnseen'>,
): readonly Line[] {
  if (entry.sent) return [clip(line('  sending your answer …', 'dim'), width)]
  const question = currentQuestion(ask, entry)
  const asked = question === undefined ? '' : howToAnswer(question)
  const how = ask.type === 'permission' ? howToPermit(offerOf(ask, { allowUnseen })) : asked
  const note = entry.note === undefined ? line(`  ${how}`, 'dim') : line(`  ${entry.note}`, 'yellow')
  const cursor: Line = [...line('  › ', 'cyan'), span(entry.input), span('█', 'dim')]
  return [...wrap(note, width, [], line('  ')), ...lastInputRows(cursor, width)]
}

/**
 * Returns the rows of a closed ask: what was asked and the result. An answered question with several parts has one for
 * each.
 */
export function closedLines(ask: Ask, width: number): readonly Line[] {
  if (ask.status === 'withdrawn') {
    return wrap([SYMBOLS.withdrawn, ...line(`no longer needed: ${summaryOf(ask)}`, 'dim')], width, [], line('  '))
  }
  if (ask.status === 'rejected') {
    return wrap([SYMBOLS.denied, span(`rejected: ${summaryOf(ask)}`, 'yellow')], width, [], line('  '))
  }
  if (ask.type === 'permission') {
    const how = ask.reply === 'always' ? 'always allowed' : 'allowed once'
    return wrap([SYMBOLS.done, span(`${how}: `, 'dim'), span(summaryOf(ask))], width, [], line('  '))
  }
  return ask.questions.flatMap((question, index) => {
    const answer = (ask.answers?.[index] ?? []).map(visibleLine).join(', ') || 'no answer'
    const asked = visibleLine(question.question) || visibleLine(question.header)
    return wrap([SYMBOLS.done, span(`${asked} `, 'dim'), span(`→ ${answer}`, 'bold')], width, [], line('  '))
  })
}

/** Returns the rows of all questions of an ask. With an entry, those of its current question only. */
function questionLines(ask: QuestionAsk, { width, reply, entry }: PanelView): readonly Line[] {
  const marked = entry === undefined ? [] : pickedOptions(ask, entry)
  const current = entry === undefined ? undefined : currentQuestion(ask, entry)
  const questions = current === undefined ? ask.questions : [current]
  return questions.flatMap((question) => {
    const count = ask.questions.length > 1 ? ` (${ask.questions.indexOf(question) + 1}/${ask.questions.length})` : ''
    const header = visibleLine(question.header) || 'Question'
    const title: Line = [span('? ', 'yellow', 'bold'), span(`${header}${count}`, 'bold'), ...askedByLine(ask, reply)]
    const several = question.multiple ? [line('  pick one or more', 'dim')] : []
    const own = question.custom && question.options.length > 0 ? [line('  or answer in your own words', 'dim')] : []
    return [
      clip(title, width),
      ...indentRows(markdown(escapeInvisible(question.question), width - 2)),
      ...several,
      ...question.options.flatMap((option, index) =>
        optionLines({ number: index + 1, ...option, marked: marked.includes(option.label) }, width),
      ),
      ...own,
    ]
  })
}

/**
 * Returns the rows of a permission: its title, all details, why "always" is not offered, and the numbered answers. Marks the
 * typed number. While the details are unknown, shows what the server sent.
 */
function permissionLines(ask: PermissionAsk, { width, reply, entry, allowUnseen }: PanelView): readonly Line[] {
  const title: Line = [
    span('! ', 'yellow', 'bold'),
    span(`Allow this? ${askTitle(ask)}`, 'bold'),
    ...askedByLine(ask, reply),
  ]
  const { isKnown, numbers } = offerOf(ask, { allowUnseen })
  const why = isKnown || allowUnseen ? whyNotAlways(ask) : undefined
  const chosen = /^\d$/.test(entry?.input.trim() ?? '') ? Number(entry?.input) : 0
  const choices = {
    1: { label: 'once', description: 'this time only' },
    2: {
      label: 'always',
      description: `${alwaysScopeText(ask)}, for everyone who uses this server, until it is revoked`,
    },
    3: { label: 'reject', description: 'add a reason if you like, and the agent takes it into account' },
  } as const
  return [
    ...chop(title, width, { lead: [], hang: line('  ↪ ', 'dim') }),
    ...(askDetails(ask) ?? []).flatMap((detail) => detailLines(detail, width)),
    ...(isKnown ? [] : unknownInputLines(ask, width)),
    ...(why === undefined ? [] : wrap(line(why, 'yellow'), width, line('  '), line('  '))),
    ...numbers.flatMap((number) => optionLines({ number, ...choices[number], marked: chosen === number }, width)),
  ]
}

/** Returns what "always" would allow, in words: this command, an option by its name, or calls that fit patterns. */
function alwaysScopeText(ask: PermissionAsk): string {
  const reach = alwaysReach(ask)
  if (reach.type === 'same') return 'this command again'
  const names = reach.names.map(legibleLine).join(', ')
  return reach.type === 'option' ? names : `calls that fit ${names}`
}

/** Returns the rows of a detail, verbatim: each line on its own row, with a mark where the terminal's width broke it. */
function detailLines({ label, format, text }: AskDetail, width: number): readonly Line[] {
  const lines = text.replace(/\n$/, '').split('\n')
  const tone = (row: string): Line => (format === 'diff' ? diffLine(row) : line(row, 'cyan'))
  const name = label === '' ? [] : [span(`${label}: `, 'dim')]
  const [only = ''] = lines
  if (lines.length === 1) return chop([...name, ...tone(only)], width, { lead: line('  '), hang: line('  ↪ ', 'dim') })
  const rows = lines.flatMap((row) => chop(tone(row), width, { lead: line('    '), hang: line('  ↪ ', 'dim') }))
  return [...(name.length === 0 ? [] : chop(name, width, { lead: line('  '), hang: line('    ') })), ...rows]
}

/** Returns rows with the server's incomplete information, and a note. */
function unknownInputLines(ask: PermissionAsk, width: number): readonly Line[] {
  const note =
    ask.callID === undefined ? 'The server does not say what it would run.' : 'Asking the server what it would run …'
  const patterns = legibleLine(ask.patterns.join(', '))
  const asked = askTitle(ask).includes(patterns) ? [] : wrap(line(patterns, 'cyan'), width, line('  '))
  return [...asked, ...wrap(line(note, 'yellow'), width, line('  '))]
}

/**
 * Returns the rows of a numbered option: its label, then its description after a dash unless that is blank. A marked one has
 * a pointer, and its number and label are highlighted.
 */
function optionLines(
  option: { number: number; label: string; description: string; marked: boolean },
  width: number,
): readonly Line[] {
  const lead: Span = option.marked ? span(`❯ ${option.number}. `, 'cyan') : span(`  ${option.number}. `, 'dim')
  const description = visibleLine(option.description)
  const label = span(visibleLine(option.label), ...(option.marked ? (['bold', 'cyan'] as const) : []))
  const row: Line = description === '' ? [label] : [label, span(` — ${description}`, 'dim')]
  return wrap(row, width, [lead], [span(' '.repeat(widthOf([lead])))])
}

/** Returns ` · asked by ` and the name of the sub-agent that asks. Empty for the agent that was prompted. */
function askedByLine(ask: Ask, reply: Reply): Line {
  let current = reply
  let name = ''
  for (const sessionID of ask.path.slice(1)) {
    const child = current.children.findLast((candidate) => candidate.reply.sessionID === sessionID)
    if (child === undefined) break
    const agent = visibleLine(child.agent ?? 'sub-agent')
    const title = givenTitle(child.title)
    name = title === undefined ? agent : `${agent}(${title})`
    current = child.reply
  }
  return name === '' ? [] : line(` · asked by ${name}`, 'dim')
}

/** Returns the rows indented by two columns. Blank ones stay blank. */
function indentRows(rows: readonly Line[]): readonly Line[] {
  return rows.map((row) => (row.length === 0 ? row : [span('  '), ...row]))
}

/** Returns the last three rows of the input, where people type. */
function lastInputRows(input: Line, width: number): readonly Line[] {
  return wrap(input, width, [], line('    ')).slice(-3)
}
