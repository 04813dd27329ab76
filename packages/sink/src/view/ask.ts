import { type Ask, escapeInvisible, type QuestionAsk, type Reply } from '@reply/core'
import { formOf, tokens } from '../asks/asks.ts'
import { permissionCardKey } from '../asks/permission.ts'
import type { AskCard, AskState } from '../ledger/card.ts'
import { questionKey } from '../ledger/keys.ts'
import type { Button, Form } from '../port/port.ts'
import { clip, italic, literal } from './format.ts'
import { permissionCards } from './permission.ts'
import { earliest, type ViewOptions } from './view.ts'

/** The asks that wait for a person, and the results of earlier ones, in the order in which they were asked. */
export interface AskView {
  readonly cards: readonly AskCard[]
  /** When a delayed card is due, in ms since the epoch. */
  readonly nextAt?: number | undefined
}

/** Questions of one ask are shown one after another; so are permissions in a chat without buttons. */
export function askCards(reply: Reply, options: ViewOptions): AskView {
  const { shown, buttons, isHeld = false } = options
  const cards: AskCard[] = []
  let nextAt: number | undefined
  let isWaiting = false
  for (const ask of reply.asks) {
    const state = shown.asks.get(ask.requestID)
    if (!state) continue
    if (ask.type === 'question') {
      const own = ask.questions.flatMap((_, at) => questionCard(ask, at, { ...options, state }) ?? [])
      cards.push(...own.filter(({ key }) => !isWaiting || shown.posted.has(key)))
      continue
    }
    const view = permissionCards(ask, state, options)
    const isPending = ask.status === 'pending'
    const isBehind: boolean = isWaiting || (isHeld && isPending && !shown.requests.has(ask.requestID))
    // Already posted cards keep their place.
    cards.push(...view.cards.filter(({ key }) => !isBehind || shown.posted.has(key)))
    nextAt = earliest(nextAt, isBehind ? undefined : view.shownAt)
    // A permission whose messages the chat refused holds back no other.
    const isAnsweredAlone = !buttons && isPending && !shown.lost?.has(permissionCardKey(ask))
    isWaiting ||= isBehind || view.shownAt !== undefined || isAnsweredAlone
  }
  return { cards, nextAt }
}

function questionCard(
  ask: QuestionAsk,
  at: number,
  options: ViewOptions & { readonly state: AskState },
): AskCard | undefined {
  const { state, texts, buttons, shown, secretOf, edits = true } = options
  const question = ask.questions[at]
  const key = questionKey(ask.requestID, at)
  const isPending = ask.status === 'pending' && at === state.answers.length
  const wasShown = at <= state.answers.length
  if (!question || !(ask.status === 'pending' ? wasShown : shown.posted.has(key))) return undefined
  const count = ask.questions.length > 1 ? ` (${at + 1}/${ask.questions.length})` : ''
  const head = `❓ **${literal(question.header || question.question)}**${count}`
  const body = question.header && question.header !== question.question ? [escapeInvisible(question.question)] : []
  if (!isPending) {
    const given = ask.answers?.[at] ?? state.answers[at]
    const end =
      given && ask.status !== 'rejected' && ask.status !== 'withdrawn'
        ? texts.answered(given.join(', '), state.by)
        : endOf(ask, state, texts)
    const source = [head, ...body, literal(end), ...unasked(ask, at, options)].join('\n\n')
    return { type: 'ask', key, source, buttons: [], isPending }
  }
  const secret = secretOf(key)
  const choices = question.options.map(({ label }, index): Button => {
    const mark = state.picked.includes(label) ? '☑ ' : question.multiple ? '☐ ' : ''
    // Every platform refuses a button without a label.
    return { label: `${mark}${escapeInvisible(label.trim()) || index + 1}`, data: tokens.option(secret, at, index) }
  })
  if (question.multiple) choices.push({ label: texts.pickDone, data: tokens.done(secret, at) })
  const isPickable = question.options.length > 0 && (edits || !question.multiple)
  const fits = buttons !== undefined && isPickable && choices.length <= buttons.rows * buttons.perRow
  const list = question.options.map(({ label, description }, index) => {
    const name = `${index + 1}. **${literal(label)}**`
    return description === '' ? name : `${name} – ${literal(description)}`
  })
  const form = formBeside(ask, at, { ...options, secret, fits })
  const hint =
    fits || form
      ? [question.multiple ? texts.pickSeveral : undefined, question.custom ? texts.other : undefined]
      : [texts.replyWith({ ...question, options: question.options.length })]
  const lines = [
    head,
    ...body,
    list.join('\n'),
    hint
      .map((line) => italic(line ?? ''))
      .filter((line) => line !== '')
      .join(' '),
  ]
  return {
    type: 'ask',
    key,
    source: lines.filter((line) => line !== '').join('\n\n'),
    buttons: fits ? rowsOf(choices, { ...buttons, perRow: 1 }) : [],
    ...(form && { form }),
    isPending,
  }
}

/** Questions answered by a form have no messages of their own, so their answers go below the last message. */
function unasked(ask: QuestionAsk, at: number, { texts, shown }: ViewOptions): readonly string[] {
  const isLast = !ask.questions.some((_, index) => index > at && shown.posted.has(questionKey(ask.requestID, index)))
  if (ask.status !== 'answered' || !isLast) return []
  return ask.questions.slice(at + 1).map((question, index) => {
    const given = ask.answers?.[at + 1 + index] ?? []
    return `**${literal(question.header || question.question)}**\n${literal(texts.answered(given.join(', '), undefined))}`
  })
}

/** For answers that buttons can't give: free text, many options, several questions at once. */
function formBeside(
  ask: QuestionAsk,
  at: number,
  { forms, fits, secret, texts }: ViewOptions & { readonly secret: string; readonly fits: boolean },
): Form | undefined {
  const questions = ask.questions.slice(at)
  if (!forms || (fits && questions.length === 1 && questions[0]?.custom !== true)) return undefined
  return formOf(ask, at, { secret, texts })
}

export function endOf(ask: Ask, state: AskState, texts: ViewOptions['texts']): string {
  switch (ask.status) {
    case 'pending':
      return texts.withdrawn
    case 'rejected':
      return texts.refused(state.by)
    case 'withdrawn':
      return texts.withdrawn
    case 'answered':
      if (ask.type === 'question') return texts.answered((ask.answers ?? state.answers).flat().join(', '), state.by)
      if (ask.reply === 'reject') return texts.refused(state.by)
      return texts.answered(ask.reply === 'always' ? texts.allowedAlways : texts.allowOnce, state.by)
    default:
      return ask.status satisfies never
  }
}

/** Rows of `perRow` buttons, or of more if there are more buttons than rows. */
export function rowsOf(
  choices: readonly Button[],
  { perRow, rows, label }: { readonly perRow: number; readonly rows: number; readonly label: number },
): readonly (readonly Button[])[] {
  const clipped = choices.map((choice) => ({ ...choice, label: clip(choice.label, label) }))
  const width = clipped.length <= rows ? perRow : Math.max(perRow, Math.ceil(clipped.length / rows))
  return Array.from({ length: Math.ceil(clipped.length / width) }, (_, row) =>
    clipped.slice(row * width, (row + 1) * width),
  )
}
