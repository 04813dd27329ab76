import { alwaysOffer, escapeDeceptive, type PermissionAsk } from '@reply/core'
import type { Policy } from '../config.ts'
import type { Entry } from '../ledger/entry.ts'
import { entriesOf, type Ledger } from '../ledger/ledger.ts'
import type { Texts } from '../texts.ts'
import { isInputKnown, permissionCardKey } from './permission.ts'

/** How people may answer a permission besides rejecting it, which is always possible. */
export interface Offer {
  readonly once: boolean
  readonly always: boolean
  /** Why allowing is not offered, in plain words. Absent if it is offered. */
  readonly why?: string | undefined
}

export interface OfferFacts {
  /** What the chat shows. */
  readonly ledger: Ledger
  readonly policy: Pick<Policy, 'allowUnseen'>
  readonly texts: Texts
  /** People here may allow something: the chat is private, or the host says who may answer. */
  readonly mayAllow: boolean
  /** The answer came from a button of a message of the ask. It proves that an edit added the button. Default false. */
  readonly isPress?: boolean | undefined
}

/**
 * Returns which answers a permission offers in this chat now, for buttons and text alike. Pure.
 *
 * Allowing requires that people may allow it here, that the call's input is known (unless `allowUnseen`), and that every
 * message of the ask, files included, is confirmed on the screen. `always` also requires patterns that it would cover, and
 * the message that names them with its buttons.
 */
export function offerOf(ask: PermissionAsk, { ledger, policy, texts, mayAllow, isPress = false }: OfferFacts): Offer {
  if (!mayAllow) return rejectOnlyOffer(texts.notAllowedHere)
  if (!isInputKnown(ask) && !policy.allowUnseen) return rejectOnlyOffer(texts.waitingForInput)
  if (!isFullyShown(ask, ledger, isPress)) return rejectOnlyOffer(texts.notAllShown)
  const isNamed = entriesOf(ledger, permissionCardKey(ask)).some(({ isAllowing }) => isAllowing === true)
  return { once: true, always: isNamed && alwaysOffer(ask).type === 'offered' }
}

/**
 * Returns why "always" is not offered although the server would accept it. Undefined if it is offered, or would cover
 * nothing.
 */
export function whyNotAlways(ask: PermissionAsk, texts: Texts): string | undefined {
  const offer = alwaysOffer(ask)
  switch (offer.type) {
    case 'offered':
    case 'none':
      return undefined
    case 'everything':
      return texts.alwaysTooWide({
        permission: escapeDeceptive(ask.permission),
        pattern: escapeDeceptive(offer.pattern),
      })
    case 'runs-anything':
      return texts.alwaysTooWide({ program: escapeDeceptive(offer.program) })
    default:
      return offer satisfies never
  }
}

/** Returns the reply to a person who answers "always" where it is not offered, with the reason if there is one. */
export function alwaysRefusalText(ask: PermissionAsk, texts: Texts): string {
  const why = whyNotAlways(ask, texts)
  return why === undefined ? texts.alwaysNotOffered : `${why} ${texts.replyPermission(false)}`
}

/** Returns the offer of a permission that can only be rejected, with the reason. */
function rejectOnlyOffer(why: string): Offer {
  return { once: false, always: false, why }
}

/**
 * Whether every message of the ask's current version is confirmed on the screen. For a press, its own message needs no
 * confirmation, because the person saw the button.
 */
export function isFullyShown(ask: PermissionAsk, ledger: Ledger, isPress: boolean): boolean {
  const own = entriesOf(ledger, permissionCardKey(ask)).filter(({ part }) => part !== undefined)
  const last = own.find(({ part }) => part !== undefined && part.index === part.count - 1)
  if (!last?.part) return false
  const { of, count } = last.part
  return Array.from({ length: count }, (_, index) => index).every((index) =>
    own.some((entry) => {
      if (entry.part?.of !== of || entry.part.index !== index) return false
      return isConfirmed(entry) || (isPress && entry === last && entry.isAllowing === true && entry.state === 'shown')
    }),
  )
}

/** Whether the message is on the screen exactly as the ledger says. */
export function isConfirmed(entry: Entry): boolean {
  return entry.state === 'shown' && entry.isUnsure !== true
}
