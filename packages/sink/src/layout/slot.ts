import type { Ask } from '@reply/core'
import { actionIn } from '../asks/token.ts'
import { hashOf } from '../hash.ts'
import type { AttachedFile, Card, TextFile } from '../ledger/card.ts'
import type { Entry, Part, Piece } from '../ledger/entry.ts'
import { entryAt, type Ledger } from '../ledger/ledger.ts'
import { split } from '../markdown/split.ts'
import type { Actor } from '../port/actor.ts'
import type { Limits } from '../port/limits.ts'
import type { AppendStream, Bubble, Button, Render } from '../port/port.ts'
import type { Texts } from '../texts.ts'
import { filesLeftNote } from '../view/attachment.ts'
import type { Flow } from '../view/task.ts'
import type { Mode } from '../view/view.ts'

/** The content of one message, and the card that it belongs to. */
export interface Slot {
  /** Identifies the message within its reply: the card's key, with `#` and a number where a card can take several. */
  readonly key: string
  /** The card that it shows in whole or in part. */
  readonly card: Card
  /** The content of the message. */
  readonly bubble: Bubble
  /** Hashes of the bubble without its footer (`body`) and with it (`whole`). */
  readonly body: string
  /** As `body`, with the footer. Equal to it without a footer. */
  readonly whole: string
  /** Set for an answer: its slice of the text. */
  readonly piece?: Piece | undefined
  /** Set for a permission, once all of it is in its messages. */
  readonly part?: Part | undefined
  /** Whether one of its buttons allows something. */
  readonly isAllowing?: true | undefined
  /** Whether it begins with a label because it continues a text above other messages. */
  readonly isContinued?: true | undefined
  /** Set for a text that is posted as a file in place of the bubble. */
  readonly file?: TextFile | undefined
  /** Set for files of the reply: posted in place of the bubble. */
  readonly attachments?: readonly AttachedFile[] | undefined
  /** The posted message stays as it is: the bubble is empty, and no edit is needed. */
  readonly isKept?: true | undefined
  /** Whether more text will be added to it. */
  readonly isGrowing: boolean
  /** Whether a line below its text says that the run was stopped. */
  readonly saysStopped?: true | undefined
  /** The last message of the answer, or of the ask. */
  readonly isLast?: boolean | undefined
  /** Set for the last message of a streamed text. */
  readonly flow?: Flow | undefined
}

/** The platform's limits, and what was posted so far. */
export interface LayoutOptions {
  /** Writes Markdown in the platform's markup. */
  readonly render: Render
  /** The limits of the platform. */
  readonly limits: Limits
  /** How text reaches the chat. */
  readonly mode: Mode
  /** The maximum length of a message in mode `append`, in units of `Limits.maxLength`. Default: that limit. */
  readonly appendLength?: number | undefined
  /** The texts of labels. */
  readonly texts: Texts
  /** The messages posted so far. They keep their slices. */
  readonly ledger: Ledger
  /** Returns the people that the first message of an ask of that type notifies while it waits. Default: none. */
  readonly mentions?: ((type: Ask['type']) => readonly Actor[]) | undefined
  /** Growing text is streamed. */
  readonly streaming?: { readonly stream: AppendStream; readonly flow: Flow } | undefined
  /** In ms since the epoch. Default: nothing is too old to be edited. */
  readonly now?: number | undefined
}

/** How long before the end of its edit window a message loses its status, which could not be removed later, in ms. */
const lastEditMs = 60_000

/** Adds the status below the text, unless the message would become too long or too old to remove it again. */
export function withFooter(slot: Slot, status: Card, options: LayoutOptions): Slot {
  const bubble = bubbleOf(`${slot.bubble.source}\n\n${smallLine(status, options)}`, slot.card, options)
  // A status is not worth a split.
  if (bubble.length > options.limits.maxLength || isTooOldForStatus(slot, options)) return slot
  return { ...slot, bubble, whole: hashOf(bubble.text) }
}

/**
 * Adds the line of another message below the text, with its buttons. Undefined if the message would become too long, or if it may
 * be too old to be edited and has no line yet.
 */
export function withLineBelow(slot: Slot, line: Bubble, options: LayoutOptions): Slot | undefined {
  const { buttons } = line
  const bubble = { ...bubbleOf(`${slot.bubble.source}\n\n${line.source}`, slot.card, options), buttons }
  const { maxLength, buttons: allowed } = options.limits
  const most = buttons.length === 0 ? maxLength : Math.min(maxLength, allowed?.maxLength ?? maxLength)
  if (bubble.length > most || (!hasFooter(slot, options) && isTooOldForStatus(slot, options))) return undefined
  return { ...slot, bubble, whole: hashOf(`${bubble.text}\n${JSON.stringify(controlsOf(bubble))}`) }
}

/** Whether the posted message shows a line below its text. */
export function hasFooter({ key }: Pick<Slot, 'key'>, { ledger }: Pick<LayoutOptions, 'ledger'>): boolean {
  const content = entryAt(ledger, key)?.content
  return content?.type === 'known' && content.whole !== content.body
}

/** Whether the message is or was a stream or, before it is posted, will be one. */
export function isStreamed(
  { key, isGrowing }: Pick<Slot, 'key' | 'isGrowing'>,
  { ledger, streaming }: Pick<LayoutOptions, 'ledger' | 'streaming'>,
): boolean {
  const posted = entryAt(ledger, key)
  return posted?.state === 'shown' ? posted.kind === 'stream' : isGrowing && streaming !== undefined
}

/** Whether growing text is appended to the message, and not edited. */
export function isStreaming(slot: Pick<Slot, 'key' | 'isGrowing'>, options: LayoutOptions): boolean {
  return options.streaming !== undefined && slot.isGrowing && isStreamed(slot, options)
}

/** Whether the message may be too old to remove a status from it again. False before it is posted. */
function isTooOldForStatus({ key }: Slot, { ledger, limits, now = 0 }: LayoutOptions): boolean {
  const posted = entryAt(ledger, key)
  const windowMs = limits.growWindowMs ?? limits.editWindowMs ?? Number.POSITIVE_INFINITY
  return posted !== undefined && now - posted.at >= windowMs - lastEditMs
}

interface RenderedPiece {
  readonly render: Render
  readonly isPlain: boolean
  readonly bubble: Bubble
  readonly body: string
}

/** Caches the rendered sealed pieces of a long answer, which is laid out again for each added word. */
const renderedPieces = new WeakMap<object, RenderedPiece>()

/** Returns the slot of a complete piece of an answer. `sealed` identifies the piece, for the cache of its rendering. */
export function sealedSlot(
  sealed: object,
  { card, key, source }: { readonly card: Card; readonly key: string; readonly source: () => string },
  options: LayoutOptions,
): Slot {
  const { render, ledger } = options
  const isPlain = ledger.plain.includes(card.key)
  const known = renderedPieces.get(sealed)
  if (known?.render === render && known.isPlain === isPlain) {
    const { bubble, body } = known
    return { key, card, bubble, body, whole: body, isGrowing: false }
  }
  const slot = slotOf(card, key, source(), options)
  renderedPieces.set(sealed, { render, isPlain, bubble: slot.bubble, body: slot.body })
  return slot
}

/** Returns the slot of a posted message that stays as it is. It equals what the message shows, so it needs no edit. */
export function keptSlot({ key, content }: Entry, card: Card, { render }: LayoutOptions): Slot {
  const bubble = { ...render(''), source: '', isPlain: false, buttons: [] }
  const { body } = content
  const whole = content.type === 'known' ? content.whole : body
  return { key, card, bubble, body, whole, isKept: true, isGrowing: false }
}

/** Renders the text as a message of the card. Text of other cards than answers and asks is shortened to fit. */
export function slotOf(card: Card, key: string, source: string, options: LayoutOptions): Slot {
  const bubble = bubbleOf(card.type === 'note' ? listed(card, source, options) : source, card, options)
  const body = hashOf(`${bubble.text}\n${JSON.stringify(controlsOf(bubble))}`)
  const slot = { key, card, bubble, body, whole: body, isGrowing: false }
  if (card.type === 'attachment') return attachmentSlot(slot, card.files)
  return card.type === 'file' ? { ...slot, file: card.file } : slot
}

/** Returns the slot of files. Its content is the same for each try, whatever is learned of the files meanwhile. */
function attachmentSlot(slot: Slot, attachments: readonly AttachedFile[]): Slot {
  const body = hashOf(slot.key)
  return { ...slot, body, whole: body, attachments }
}

/** Returns the buttons and the form without secrets, so that a process with other secrets has nothing to edit. */
function controlsOf({ buttons, form }: Bubble): unknown {
  const rows = buttons.map((row) => row.map(({ label, data }) => [label, actionIn(data)]))
  return [rows, form && actionIn(form.token)]
}

/**
 * Renders the text with the card's buttons, and as plain text if the platform refused the card's markup. Text of other cards
 * than answers and asks is shortened to fit.
 */
function bubbleOf(source: string, card: Card, { render, limits, ledger }: LayoutOptions): Bubble {
  const buttons: readonly (readonly Button[])[] = ('buttons' in card && card.buttons) || []
  const isWhole = card.type === 'answer' || card.type === 'ask'
  const shown = isWhole ? source : shortened(source, mostOf(card, { limits, ledger }), render)
  const rendered = render(shown)
  const isPlain = ledger.plain.includes(card.key)
  const form = card.type === 'ask' ? card.form : undefined
  return {
    text: isPlain ? rendered.plain : rendered.text,
    // Few messages need `plain`, and computing it is slow for some renderers, so it stays lazy.
    get plain() {
      return rendered.plain
    },
    length: rendered.length,
    isPlain,
    source: shown,
    buttons,
    ...(form && { form }),
  }
}

/** How long a message of the card may be: the platform's limit, or less if it refused that. */
function mostOf({ key }: Card, { limits, ledger }: Pick<LayoutOptions, 'limits' | 'ledger'>): number {
  return Math.min(limits.maxLength, ledger.caps[key]?.most ?? limits.maxLength)
}

/** Returns the note with as many of its names as fit a message, in their order. The text as it is if it lists none, or they all fit. */
function listed(card: Card & { readonly type: 'note' }, source: string, options: LayoutOptions): string {
  const { names = [] } = card
  const fits = (text: string): boolean => options.render(text).length <= mostOf(card, options)
  if (names.length === 0 || fits(source)) return source
  const noteOf = (count: number): string => filesLeftNote(names, count, options.texts)
  let [fitting, tooMany] = [0, names.length]
  while (tooMany - fitting > 1) {
    const count = (fitting + tooMany) >> 1
    if (fits(noteOf(count))) fitting = count
    else tooMany = count
  }
  return noteOf(fitting)
}

/** Shortens the text to one message and ends it with "…" if it doesn't fit. */
function shortened(source: string, maxLength: number, render: Render): string {
  if (render(source).length <= maxLength) return source
  const [slice] = split(source, { maxLength: Math.max(1, maxLength - 2), measure: (text) => render(text).length })
  return `${(slice?.source ?? '').trimEnd()}\n…`
}

/** Returns the card's line in the platform's small style, or in italics if it has none, with its link behind it. */
export function smallLine(card: Card, { limits }: LayoutOptions): string {
  const line = escapedLine(card.source)
  const styled = limits.small?.(line) ?? `*${line}*`
  return card.type === 'status' && card.link !== undefined ? `${styled} · ${card.link}` : styled
}

/** Returns the text with a backslash before each character that Markdown could read as a mark. */
function escapedLine(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|~]/g, '\\$&')
}
