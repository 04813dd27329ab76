import {
  alwaysOffer,
  alwaysReach,
  askTitle,
  escapeDeceptive,
  escapeInvisible,
  type PermissionAsk,
  type QuestionAsk,
  type Reply,
} from '@reply/core'
import { startsSubagent } from '@reply/core/internal'
import { askEndText } from '../asks/ask-end.ts'
import { formOf, tokens } from '../asks/asks.ts'
import { whyNotAlways } from '../asks/offer.ts'
import { detailsOf, isInputKnown, permissionCardKey } from '../asks/permission.ts'
import { earliest } from '../earliest.ts'
import type { AskCard, AskContent, AskFoot, AskState } from '../ledger/card.ts'
import { questionKey, requestIDOf } from '../ledger/keys.ts'
import type { Button, Form } from '../port/port.ts'
import type { Texts } from '../texts.ts'
import { clip, italic, literal, oneLine, pageLink } from './format.ts'
import type { ViewOptions } from './view.ts'

/** The cards of pending asks and the results of earlier ones, in the order in which they were asked. */
export interface AskView {
  readonly cards: readonly AskCard[]
  /** When a delayed card is due, in ms since the epoch. */
  readonly nextAt?: number | undefined
}

/**
 * Returns the cards of all asks that the ledger knows. Questions of one ask are shown one after another. So are permissions
 * in a chat without buttons. While one waits for its input or its turn, the asks after it wait too, except posted ones.
 */
export function askCards(reply: Reply, options: ViewOptions): AskView {
  const { shown, buttons, isBlocked = false } = options
  const cards: AskCard[] = []
  let nextAt: number | undefined
  let isWaiting = false
  for (const ask of reply.asks) {
    const state = shown.asks.get(ask.requestID)
    if (!state) continue
    if (ask.type === 'question') {
      const own = ask.questions.flatMap((_, index) => questionCard(ask, index, { ...options, state }) ?? [])
      cards.push(...own.filter(({ key }) => !isWaiting || shown.posted.has(key)))
      continue
    }
    const view = permissionCards(ask, state, options)
    const isPending = ask.status === 'pending'
    const isBehind: boolean = isWaiting || (isBlocked && isPending && !shown.requests.has(ask.requestID))
    // Already posted cards keep their place.
    cards.push(...view.cards.filter(({ key }) => !isBehind || shown.posted.has(key)))
    nextAt = earliest(nextAt, isBehind ? undefined : view.waitsUntil)
    // A permission whose messages were refused doesn't block others.
    const isAnsweredAlone = !buttons && isPending && !shown.lost?.has(permissionCardKey(ask))
    isWaiting ||= isBehind || view.waitsUntil !== undefined || isAnsweredAlone
  }
  return { cards, nextAt }
}

/**
 * Returns the card of one question. While it waits, it has its options, buttons if all of them fit, a form where buttons are
 * not enough, and how to answer. After that, it has the answer or how the ask ended. Undefined for questions that are not
 * asked yet, or were never shown before the ask closed.
 */
function questionCard(
  ask: QuestionAsk,
  questionIndex: number,
  options: ViewOptions & { readonly state: AskState },
): AskCard | undefined {
  const { state, texts, buttons, shown, secretOf, edits = true } = options
  const question = ask.questions[questionIndex]
  const key = questionKey(ask.requestID, questionIndex)
  const isPending = ask.status === 'pending' && questionIndex === state.answers.length
  const wasShown = questionIndex <= state.answers.length
  if (!question || !(ask.status === 'pending' ? wasShown : shown.posted.has(key))) return undefined
  const count = ask.questions.length > 1 ? ` (${questionIndex + 1}/${ask.questions.length})` : ''
  const head = `❓ ${originOf(options)}**${literal(question.header || question.question)}**${count}`
  const body = question.header && question.header !== question.question ? [escapeInvisible(question.question)] : []
  if (!isPending) {
    const given = ask.answers?.[questionIndex] ?? state.answers[questionIndex]
    const end =
      given && ask.status !== 'rejected' && ask.status !== 'withdrawn'
        ? texts.answered(given.join(', '), state.by)
        : askEndText(ask, state, texts)
    const source = [head, ...body, literal(end), ...answersGivenByForm(ask, questionIndex, options)].join('\n\n')
    return { type: 'ask', key, source, buttons: [], isPending }
  }
  const secret = secretOf(key)
  const choices = question.options.map(({ label }, index): Button => {
    const isPicked = state.picked.includes(label)
    const mark = isPicked ? '☑ ' : question.multiple ? '☐ ' : ''
    // Every platform refuses a button without a label.
    return {
      label: `${mark}${escapeInvisible(label.trim()) || index + 1}`,
      data: (isPicked ? tokens.unpick : tokens.option)(secret, questionIndex, index),
    }
  })
  if (question.multiple) choices.push({ label: texts.pickDone, data: tokens.done(secret, questionIndex) })
  const isPickable = question.options.length > 0 && (edits || !question.multiple)
  const fits = buttons !== undefined && isPickable && choices.length <= buttons.rows * buttons.perRow
  const list = question.options.map(({ label, description }, index) => {
    const name = `${index + 1}. **${literal(label)}**`
    return description === '' ? name : `${name} – ${literal(description)}`
  })
  const form = formBeside(ask, questionIndex, { ...options, secret, fits })
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
    pageLink(options),
  ]
  return {
    type: 'ask',
    key,
    source: lines.filter((line) => line !== '').join('\n\n'),
    buttons: fits ? buttonRows(choices, { ...buttons, perRow: 1 }) : [],
    ...(form && { form }),
    isPending,
  }
}

/**
 * Returns the answers to later questions, which have no messages of their own because a form answered them. Empty
 * unless this is the last message.
 */
function answersGivenByForm(ask: QuestionAsk, questionIndex: number, { texts, shown }: ViewOptions): readonly string[] {
  const isLast = !ask.questions.some(
    (_, index) => index > questionIndex && shown.posted.has(questionKey(ask.requestID, index)),
  )
  if (ask.status !== 'answered' || !isLast) return []
  return ask.questions.slice(questionIndex + 1).map((question, index) => {
    const given = ask.answers?.[questionIndex + 1 + index] ?? []
    return `**${literal(question.header || question.question)}**\n${literal(texts.answered(given.join(', '), undefined))}`
  })
}

/**
 * Returns a form for answers that buttons can't give: free text, many options, or several questions at once. Undefined
 * if buttons suffice or the port has no forms.
 */
function formBeside(
  ask: QuestionAsk,
  firstIndex: number,
  { forms, fits, secret, texts }: ViewOptions & { readonly secret: string; readonly fits: boolean },
): Form | undefined {
  const questions = ask.questions.slice(firstIndex)
  if (!forms || (fits && questions.length === 1 && questions[0]?.custom !== true)) return undefined
  return formOf(ask, firstIndex, { secret, texts })
}

/** Returns rows of `perRow` buttons, or of more if there are more buttons than rows. Clips labels. */
export function buttonRows(
  choices: readonly Button[],
  { perRow, rows, label }: { readonly perRow: number; readonly rows: number; readonly label: number },
): readonly (readonly Button[])[] {
  const clipped = choices.map((choice) => ({ ...choice, label: clip(choice.label, label) }))
  const width = clipped.length <= rows ? perRow : Math.max(perRow, Math.ceil(clipped.length / rows))
  return Array.from({ length: Math.ceil(clipped.length / width) }, (_, row) =>
    clipped.slice(row * width, (row + 1) * width),
  )
}

/** Maximum length of a summary, in UTF-16 units. */
const titleLength = 120

/**
 * How long to wait for the call's input before showing a permission without it, in ms. The drive reads it over REST
 * after 1 s.
 */
const inputWaitMs = 1500

/** A permission's card, and its earlier cards with outdated content. */
interface PermissionView {
  readonly cards: readonly AskCard[]
  /** Set while the permission is not shown yet. Later asks wait for it. */
  readonly waitsUntil?: number | undefined
}

/**
 * Returns the permission's card and those of its former contents. Delays the card up to `inputWaitMs` for the call's
 * input. Empty while the input is unknown again after a restart, so that the screen stays as it is.
 */
function permissionCards(ask: PermissionAsk, state: AskState, options: ViewOptions): PermissionView {
  const { shown, texts, now } = options
  const key = permissionCardKey(ask)
  const isPending = ask.status === 'pending'
  const isKnown = isInputKnown(ask)
  // After a restart the input is not known yet, and the screen may already show all of it.
  if (isPending && !isKnown && state.isInputKnown === true) return { cards: [] }
  const isPosted = shown.posted.has(key)
  const before = [...shown.posted].filter((card) => card !== key && requestIDOf(card) === ask.requestID)
  const end = isPending || isPosted ? texts.superseded : askEndText(ask, state, texts)
  const old = before.map((card) => retiredCard(card, `${summaryOf(ask, texts)}\n\n${literal(end)}`))
  const waitsUntil = (state.seenAt ?? 0) + inputWaitMs
  if (isPending && !isKnown && !isPosted && now < waitsUntil) return { cards: old, waitsUntil }
  const content = permissionContent(ask, state, options)
  const { buttons } = content.open
  return { cards: [...old, { type: 'ask', key, source: content.head, buttons, isPending, content }] }
}

/** Returns the card of an outdated permission, without buttons. */
function retiredCard(key: string, source: string): AskCard {
  return { type: 'ask', key, source, buttons: [], isPending: false, isRetired: true }
}

/**
 * Returns the head, the details and the summary of a permission, and what stands below them with the buttons: `open` once
 * all of it is on the screen, and `closed` before that. For an ask that has ended, both say how.
 */
function permissionContent(ask: PermissionAsk, state: AskState, options: ViewOptions): AskContent {
  const { texts, uploads, policy } = options
  const documentLength = uploads ? policy.documentLength : undefined
  const why = whyOnlyReject(ask, state, options)
  const hasAlways = why === undefined && alwaysOffer(ask).type === 'offered'
  const details = allDetailsOf(ask, hasAlways, texts)
  const head = `❓ ${originOf(options)}${literal(texts.permission(askTitle(ask)))}`
  const content = { head, summary: summaryOf(ask, texts), details, documentLength }
  if (ask.status !== 'pending') {
    const end = { source: literal(askEndText(ask, state, texts)), buttons: [], isAllowing: false }
    return { ...content, open: end, closed: end }
  }
  const secret = options.secretOf(permissionCardKey(ask))
  const closed = rejectFoot(texts.notAllShown, secret, options)
  return {
    ...content,
    open: withPageLink(why === undefined ? allowFoot(ask, secret, options) : rejectFoot(why, secret, options), options),
    closed: withPageLink(closed, options),
  }
}

/** Returns the end of a permission with the link to the page of the run. */
function withPageLink(foot: AskFoot, options: ViewOptions): AskFoot {
  return { ...foot, source: [foot.source, pageLink(options)].filter((part) => part !== '').join(' · ') }
}

/** Returns why the permission can only be rejected. Undefined if it can be allowed once all of it is shown. */
function whyOnlyReject(ask: PermissionAsk, state: AskState, options: ViewOptions): string | undefined {
  const { texts, policy, mayAllow = () => true } = options
  if (!mayAllow(state)) return state.isExplained === false ? texts.rejectOnly : texts.notAllowedHere
  return isInputKnown(ask) || policy.allowUnseen ? undefined : texts.waitingForInput
}

/**
 * Returns what stands below a permission that can be allowed: notes on what that would start or why "always" is missing, and
 * the buttons, or else how to answer by text.
 */
function allowFoot(ask: PermissionAsk, secret: string, { texts, buttons }: ViewOptions): AskFoot {
  const canAlways = alwaysOffer(ask).type === 'offered'
  const notes = [startsSubagent(ask) ? texts.subagentActs : undefined, whyNotAlways(ask, texts)].filter(
    (note) => note !== undefined,
  )
  if (!buttons)
    return { source: literal([...notes, texts.replyPermission(canAlways)].join(' ')), buttons: [], isAllowing: true }
  const choices: readonly Button[] = [
    { label: texts.allowOnce, data: tokens.permission(secret, 'once') },
    ...(canAlways ? [{ label: texts.allowAlways, data: tokens.permission(secret, 'always') }] : []),
    { label: texts.reject, data: tokens.permission(secret, 'reject') },
  ]
  return { source: literal(notes.join(' ')), buttons: buttonRows(choices, buttons), isAllowing: true }
}

/** Returns what stands below a permission that can only be rejected: the reason, and the button, or else how by text. */
function rejectFoot(why: string, secret: string, { texts, buttons }: ViewOptions): AskFoot {
  if (!buttons) return { source: literal(`${why} ${texts.replyReject}`), buttons: [], isAllowing: false }
  const choice: Button = { label: texts.reject, data: tokens.permission(secret, 'reject') }
  return { source: literal(why), buttons: buttonRows([choice], buttons), isAllowing: false }
}

/** Returns a line with the command, shortened if necessary, for a message without the details. */
function summaryOf(ask: PermissionAsk, texts: Texts): string {
  return `❓ ${literal(texts.permission(oneLine(escapeDeceptive(ask.title || askTitle(ask)), titleLength)))}`
}

/** Returns what stands before the first words of an ask: where the reply was started. Empty if that is this chat. */
function originOf({ origin }: ViewOptions): string {
  return origin === undefined ? '' : `${literal(origin)}: `
}

interface Details {
  readonly texts: Texts
  readonly hasAlways: boolean
  readonly list: AskContent['details']
}

const cachedDetails = new WeakMap<PermissionAsk, Details>()

/**
 * Returns the details, with those of "always" if `hasAlways`. The same list for the same ask, so that it is only cut
 * into messages once.
 */
function allDetailsOf(ask: PermissionAsk, hasAlways: boolean, texts: Texts): AskContent['details'] {
  const before = cachedDetails.get(ask)
  if (before?.texts === texts && before.hasAlways === hasAlways) return before.list
  const list = [...detailsOf(ask, texts), ...(hasAlways ? [alwaysDetail(ask, texts)] : [])]
  cachedDetails.set(ask, { texts, hasAlways, list })
  return list
}

/** Maximum length of patterns within a sentence, in UTF-16 units. Longer ones become a block. */
const sentenceLength = 200

/**
 * Returns what "always" would allow: a sentence, or a block of patterns that are too long for one or would change in a
 * line.
 */
function alwaysDetail(ask: PermissionAsk, texts: Texts): AskContent['details'][number] {
  const reach = alwaysReach(ask)
  if (reach.type === 'same') return { format: 'note', text: texts.alwaysAllows(reach) }
  const { type, names } = reach
  const text = names.map((name) => (type === 'option' ? `"${literal(name)}"` : `\`${name}\``)).join(', ')
  const isVerbatim = names.every((name) => isLine(name) && (type === 'option' || !name.includes('`')))
  const isShort = text.length <= sentenceLength && isVerbatim
  if (isShort) return { format: 'note', text: texts.alwaysAllows({ type, text }) }
  return { label: texts.alwaysCovers, format: 'text', text: names.join('\n') }
}

/** Whether the text can be one line without losing white space. */
function isLine(text: string): boolean {
  return /^\S+(?: \S+)*$/.test(text)
}
