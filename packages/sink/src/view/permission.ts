import { alwaysOffer, alwaysReach, askTitle, escapeDeceptive, type PermissionAsk, startsSubagent } from '@reply/core'
import { tokens } from '../asks/asks.ts'
import { whyNotAlways } from '../asks/offer.ts'
import { detailsOf, isInputKnown, permissionCardKey } from '../asks/permission.ts'
import type { AskCard, AskContent, AskFoot, AskState } from '../ledger/card.ts'
import { requestOf } from '../ledger/keys.ts'
import type { Button } from '../port/port.ts'
import type { Texts } from '../texts.ts'
import { endOf, rowsOf } from './ask.ts'
import { literal, oneLine } from './format.ts'
import type { ViewOptions } from './view.ts'

/** UTF-16 units of a summary. */
const titleLength = 120

/**
 * How long to wait for the call's input before showing a permission without it, in ms. The drive reads it over REST
 * after 1 s.
 */
const inputWaitMs = 1500

/** A permission's card, and its earlier cards with outdated content. */
export interface PermissionView {
  readonly cards: readonly AskCard[]
  /** Set while the permission is not shown yet; asks after it wait, too. */
  readonly shownAt?: number | undefined
}

export function permissionCards(ask: PermissionAsk, state: AskState, options: ViewOptions): PermissionView {
  const { shown, texts, now } = options
  const key = permissionCardKey(ask)
  const isPending = ask.status === 'pending'
  const isKnown = isInputKnown(ask)
  // After a restart the input is not known yet, and the screen may already show all of it.
  if (isPending && !isKnown && state.isInputKnown === true) return { cards: [] }
  const isPosted = shown.posted.has(key)
  const before = [...shown.posted].filter((card) => card !== key && requestOf(card) === ask.requestID)
  const end = isPending || isPosted ? texts.superseded : endOf(ask, state, texts)
  const old = before.map((card) => retiredCard(card, `${summaryOf(ask, texts)}\n\n${literal(end)}`))
  const shownAt = (state.seenAt ?? 0) + inputWaitMs
  if (isPending && !isKnown && !isPosted && now < shownAt) return { cards: old, shownAt }
  const content = contentOf(ask, state, options)
  const { buttons } = content.open
  return { cards: [...old, { type: 'ask', key, source: content.head, buttons, isPending, content }] }
}

function retiredCard(key: string, source: string): AskCard {
  return { type: 'ask', key, source, buttons: [], isPending: false, isRetired: true }
}

function contentOf(ask: PermissionAsk, state: AskState, options: ViewOptions): AskContent {
  const { texts, uploads, policy } = options
  const documentLength = uploads ? policy.documentLength : undefined
  const why = whyClosed(ask, state, options)
  const hasAlways = why === undefined && alwaysOffer(ask).type === 'offered'
  const details = allDetailsOf(ask, hasAlways, texts)
  const head = `❓ ${literal(texts.permission(askTitle(ask)))}`
  const content = { head, summary: summaryOf(ask, texts), details, documentLength }
  if (ask.status !== 'pending') {
    const end = { source: literal(endOf(ask, state, texts)), buttons: [], isAllowing: false }
    return { ...content, open: end, closed: end }
  }
  const secret = options.secretOf(permissionCardKey(ask))
  const closed = rejecting(texts.notAllShown, secret, options)
  return {
    ...content,
    open: why === undefined ? allowing(ask, secret, options) : rejecting(why, secret, options),
    closed,
  }
}

function whyClosed(ask: PermissionAsk, state: AskState, options: ViewOptions): string | undefined {
  const { texts, policy, mayAllow = () => true } = options
  if (!mayAllow(state)) return state.isExplained === false ? texts.rejectOnly : texts.notAllowedHere
  return isInputKnown(ask) || policy.allowUnseen ? undefined : texts.waitingForInput
}

function allowing(ask: PermissionAsk, secret: string, { texts, buttons }: ViewOptions): AskFoot {
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
  return { source: literal(notes.join(' ')), buttons: rowsOf(choices, buttons), isAllowing: true }
}

function rejecting(why: string, secret: string, { texts, buttons }: ViewOptions): AskFoot {
  if (!buttons) return { source: literal(`${why} ${texts.replyReject}`), buttons: [], isAllowing: false }
  const choice: Button = { label: texts.reject, data: tokens.permission(secret, 'reject') }
  return { source: literal(why), buttons: rowsOf([choice], buttons), isAllowing: false }
}

/** For a message without the details: it names the command, shortened if it is long. */
function summaryOf(ask: PermissionAsk, texts: Texts): string {
  return `❓ ${literal(texts.permission(oneLine(escapeDeceptive(ask.title || askTitle(ask)), titleLength)))}`
}

interface Details {
  readonly texts: Texts
  readonly hasAlways: boolean
  readonly list: AskContent['details']
}

const known = new WeakMap<PermissionAsk, Details>()

/** Returns the same list for the same ask, so that it is cut into messages only once. */
function allDetailsOf(ask: PermissionAsk, hasAlways: boolean, texts: Texts): AskContent['details'] {
  const before = known.get(ask)
  if (before?.texts === texts && before.hasAlways === hasAlways) return before.list
  const list = [...detailsOf(ask, texts), ...(hasAlways ? [alwaysOf(ask, texts)] : [])]
  known.set(ask, { texts, hasAlways, list })
  return list
}

/** UTF-16 units of the patterns in a sentence; longer ones are a block. */
const sentenceLength = 200

/** What "always" would allow. */
function alwaysOf(ask: PermissionAsk, texts: Texts): AskContent['details'][number] {
  const reach = alwaysReach(ask)
  if (reach.type === 'same') return { format: 'note', text: texts.alwaysAllows(reach) }
  const { type, names } = reach
  const text = names.map((name) => (type === 'option' ? `"${literal(name)}"` : `\`${name}\``)).join(', ')
  const isVerbatim = names.every((name) => isLine(name) && (type === 'option' || !name.includes('`')))
  const isShort = text.length <= sentenceLength && isVerbatim
  if (isShort) return { format: 'note', text: texts.alwaysAllows({ type, text }) }
  return { label: texts.alwaysCovers, format: 'text', text: names.join('\n') }
}

/** No space in it would be lost. */
function isLine(text: string): boolean {
  return /^\S+(?: \S+)*$/.test(text)
}
