import { digestOfText } from '@reply/core/internal'
import { isConfirmed } from '../asks/offer.ts'
import type { AskCard, AskContent, AskFoot } from '../ledger/card.ts'
import { type Entry, isOrWasThere } from '../ledger/entry.ts'
import { askMessageKey, messageIndex, questionKey, requestIDOf } from '../ledger/keys.ts'
import { entriesOf } from '../ledger/ledger.ts'
import { split } from '../markdown/split.ts'
import type { Actor } from '../port/actor.ts'
import type { Bubble, Render } from '../port/port.ts'
import { type AskPages, joinedParagraphs, type PageLimits, pagesOf, reservedFootLength } from './ask-pages.ts'
import type { LayoutOptions, Slot } from './slot.ts'
import { slotOf } from './slot.ts'

/** Returns the messages of an ask, none of them shortened. The last one has the buttons. Pure. */
export function askSlots(card: AskCard, options: LayoutOptions): readonly Slot[] {
  if (card.isRetired) return retiredSlots(card, options)
  const slots = card.content ? permissionSlots(card, card.content, options) : questionSlots(card, options)
  return withMentionedPeople(slots, card, options)
}

/**
 * Adds the people to notify to the first message of a pending ask that is not a file. Leaves out anonymous actors. Later
 * questions follow an answer and mention no one. Returns the same slots if there is no one to notify.
 */
function withMentionedPeople(slots: readonly Slot[], card: AskCard, { mentions }: LayoutOptions): readonly Slot[] {
  const isFirstOfAsk = card.content !== undefined || card.key === questionKey(requestIDOf(card.key) ?? '', 0)
  if (!mentions || !card.isPending || !isFirstOfAsk) return slots
  const people = mentions(card.content ? 'permission' : 'question').filter(({ isAnonymous }) => !isAnonymous)
  if (people.length === 0) return slots
  const first = slots.findIndex(({ file }) => file === undefined)
  return slots.map((slot, at) => (at === first ? { ...slot, bubble: withMentionsOf(slot.bubble, people) } : slot))
}

/** Returns the bubble with these people to notify. Its `plain` stays lazy. */
function withMentionsOf(bubble: Bubble, mentions: readonly Actor[]): Bubble {
  return {
    ...bubble,
    get plain() {
      return bubble.plain
    },
    mentions,
  }
}

/**
 * Returns the messages of a permission. The last one only offers to allow it once all others are confirmed. If it was answered
 * while being posted, returns only the posted ones and the last. Empty if it was answered before any was shown.
 */
function permissionSlots(card: AskCard, content: AskContent, options: LayoutOptions): readonly Slot[] {
  const own = ownEntries(card, options)
  // It was answered before any of it was shown.
  if (!card.isPending && !own.some(isOrWasThere)) return []
  const { file, pages, isWhole } = cachedPages(content, card, options)
  const of = digestOfText(JSON.stringify([file?.text, ...pages]))
  const before = file ? 1 : 0
  const count = before + pages.length
  const isOnScreen = (index: number): boolean =>
    own.some((entry) => entry.part?.of === of && entry.part.index === index && isConfirmed(entry))
  const isAllThere = isWhole && Array.from({ length: count - 1 }, (_, index) => index).every(isOnScreen)
  const foot = isAllThere ? content.open : content.closed
  // If people can only reject it, they need not know what "always" would allow.
  const pageFor = (page: string): string => (card.isPending && !foot.isAllowing ? withoutNote(page, content) : page)
  const slots = Array.from({ length: count }, (_, index): Slot => {
    const isLast = index === count - 1
    const page = pages[index - before]
    const key = askMessageKey(card.key, index)
    const slot =
      page === undefined
        ? { ...slotOf({ ...card, buttons: [] }, key, file?.caption ?? '', options), file }
        : isLast
          ? lastSlot(
              card,
              key,
              { page: isPosted(own, key) || card.isPending ? pageFor(page) : content.summary, foot },
              options,
            )
          : slotOf({ ...card, buttons: [] }, key, page, options)
    return { ...slot, isLast, ...(isWhole && { part: { of, index, count } }) }
  })
  // If it was answered while being posted, only its end is still posted.
  return card.isPending ? slots : slots.filter(({ key, isLast }) => isLast || isPosted(own, key))
}

/**
 * Returns the page without the sentence that says what "always" would allow, or the head if nothing else is left. Unchanged if
 * the page doesn't end with it.
 */
function withoutNote(page: string, { head, details }: AskContent): string {
  const last = details.at(-1)
  if (last?.format !== 'note' || !page.endsWith(last.text)) return page
  return page.slice(0, -last.text.length).trimEnd() || head
}

/**
 * Returns the last message of a permission. Its foot may be shortened if a host's text or a name is long. The content
 * above is not.
 */
function lastSlot(
  card: AskCard,
  key: string,
  { page, foot }: { readonly page: string; readonly foot: AskFoot },
  options: LayoutOptions,
): Slot {
  const maxLength = maxLengthOf(card, options)
  const isFitting = (source: string): boolean => options.render(joinedParagraphs(page, source)).length <= maxLength
  const [slice] = isFitting(foot.source)
    ? [{ source: foot.source }]
    : split(foot.source, { maxLength: reservedFootLength(maxLength), measure: (text) => options.render(text).length })
  const slot = slotOf({ ...card, buttons: foot.buttons }, key, joinedParagraphs(page, slice?.source ?? ''), options)
  return { ...slot, ...(foot.isAllowing && { isAllowing: true }) }
}

/** Returns the messages of a question. Messages left over from a longer text lose their text and buttons. */
function questionSlots(card: AskCard, options: LayoutOptions): readonly Slot[] {
  const maxLength = maxLengthOf(card, options)
  const slices = split(card.source, {
    maxLength,
    escapable: options.limits.escapable,
    measure: (text) => options.render(text).length,
  })
  const slots = slices.map(({ source }, index): Slot => {
    const isLast = index === slices.length - 1
    const shown = isLast ? card : { ...card, buttons: [], form: undefined }
    return { ...slotOf(shown, askMessageKey(card.key, index), source.trim(), options), isLast }
  })
  // Messages from when it was longer lose their buttons.
  const rest = ownEntries(card, options).filter(
    (entry) => isOrWasThere(entry) && messageIndex(entry.key) >= slots.length,
  )
  return [...slots, ...rest.map(({ key }) => slotOf({ ...card, buttons: [] }, key, options.texts.removed, options))]
}

/** Returns the last message of an outdated ask. Empty if none was posted. */
function retiredSlots(card: AskCard, options: LayoutOptions): readonly Slot[] {
  const last = ownEntries(card, options)
    .filter(isOrWasThere)
    .toSorted((a, b) => messageIndex(a.key) - messageIndex(b.key))
    .at(-1)
  return last ? [slotOf(card, last.key, card.source, options)] : []
}

/** Returns the entries of the ask's messages, in the order of their posts. */
function ownEntries({ key }: AskCard, { ledger }: LayoutOptions): readonly Entry[] {
  return entriesOf(ledger, key)
}

/** Whether the message is or may be in the chat. */
function isPosted(own: readonly Entry[], key: string): boolean {
  return own.some((entry) => entry.key === key && isOrWasThere(entry))
}

/** Returns the maximum length of a message of the ask, less after the platform refused one as too long. */
function maxLengthOf({ key }: AskCard, { limits, ledger }: LayoutOptions): number {
  return Math.min(limits.maxLength, ledger.caps[key]?.most ?? limits.maxLength)
}

interface CachedPages {
  readonly key: string
  readonly pages: AskPages
}

const cuts = new WeakMap<Render, WeakMap<AskContent['details'], CachedPages>>()

/**
 * Returns the pages of a permission. They are cut once for the same content and lengths, because an ask is laid out again with
 * each change of its reply.
 */
function cachedPages(content: AskContent, card: AskCard, options: LayoutOptions): AskPages {
  const { render, limits, texts } = options
  const maxLength = maxLengthOf(card, options)
  const lastLength = Math.min(maxLength, limits.buttons?.maxLength ?? maxLength)
  const key = JSON.stringify([content.head, content.documentLength, maxLength, lastLength])
  const byDetails = cuts.get(render) ?? new WeakMap<AskContent['details'], CachedPages>()
  cuts.set(render, byDetails)
  const known = byDetails.get(content.details)
  if (known?.key === key) return known.pages
  const measure: PageLimits['measure'] = (source) => {
    const { length, plain } = render(source)
    return Math.max(length, plain.length)
  }
  const pages = pagesOf(content, { measure, maxLength, lastLength, texts })
  byDetails.set(content.details, { key, pages })
  return pages
}
