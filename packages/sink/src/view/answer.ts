import { type Part, partsOf, type Reply, type TextPart } from '@reply/core'
import type { AnswerCard, Card } from '../ledger/card.ts'
import { answerBelow, answerKey, fileKey } from '../ledger/keys.ts'
import { type CodeBlock, codeBlocksIn } from '../markdown/code-blocks.ts'
import { lastWordEnd } from '../markdown/cut.ts'
import { withoutHalf } from '../port/well-formed.ts'
import { isKnownToChat } from './ending.ts'
import { fileExtension } from './file-name.ts'
import type { ViewOptions } from './view.ts'

/** A card below the first `at` shown text parts. Without `card`, it was posted and no longer changes. */
export interface Placed {
  readonly key: string
  readonly at: number
  readonly card?: Card | undefined
}

export interface AnswerViewOptions extends ViewOptions {
  readonly textParts: readonly TextPart[]
  /** The shown text parts, in order. */
  readonly kept: readonly Placed[]
  /** The part that the chat shows the beginning of, which is not known here. */
  readonly unknownPartID: string | undefined
}

/**
 * Splits the assistant's text into cards around the other cards that stay, and returns all of them in order. In mode `final`,
 * there is no text until the reply has settled.
 */
export function answerCards(reply: Reply, options: AnswerViewOptions): readonly Card[] {
  const { textParts, kept, mode } = options
  const cards: Card[] = []
  const isSettled = reply.phase === 'settled'
  const isSilent = isKnownToChat(reply, options)
  const newest = partsOf(reply).at(-1)
  let fromIndex = 0
  let key: string = answerKey
  for (const { key: broken, at, card } of kept) {
    addAnswerCards(at, false)
    if (card) cards.push(card)
    if (mode !== 'final') key = answerBelow(broken)
  }
  addAnswerCards(textParts.length, true)
  return cards

  /**
   * Adds the cards of the text parts before `toIndex` that have none yet. Adds nothing if they have no text to show, and in
   * mode `final` before the reply has settled.
   */
  function addAnswerCards(toIndex: number, isLast: boolean): void {
    const parts = textParts.slice(fromIndex, toIndex)
    fromIndex = Math.max(fromIndex, toIndex)
    if (parts.length === 0 || (mode === 'final' && !isSettled)) return
    const isOpen = !isSettled && (isLast || parts.some((part) => part.status === 'open'))
    const ready = mode === 'sealed' ? sealedPrefix(parts, newest) : parts
    const source =
      mode === 'sealed' && ready.length < parts.length ? withParagraphs(parts, ready) : joinedText(ready, key)
    if (source === '') return
    const isWhole = isSettled || !isOpen
    const isUnknown = parts.some(({ id }) => id === options.unknownPartID)
    const card = {
      ...({ type: 'answer', key, source, isOpen } as const),
      ...(isSilent && { isSilent }),
      ...(isUnknown && { isUnknown }),
    }
    cards.push(...withFiles(card, isWhole, options))
  }

  /**
   * Returns the complete parts and the posted text of the growing one. After a silence also its finished paragraphs,
   * which say more than a heartbeat.
   */
  function withParagraphs(parts: readonly TextPart[], ready: readonly TextPart[]): string {
    const complete = joinedText(ready, key)
    const whole = joinedText(parts.slice(0, ready.length + 1), key)
    const posted = options.shown.ends?.get(key) ?? 0
    const isDue = options.now >= silentFrom(reply, options)
    return whole.slice(0, Math.max(complete.length, posted, isDue ? paragraphsEnd(whole, posted, options) : 0))
  }

  /**
   * Returns the text of the parts, joined by blank lines. In mode `append`, growing text ends with its last whole word, but
   * not before the end of what was posted under `key`.
   */
  function joinedText(ready: readonly TextPart[], key: string): string {
    const source = ready.map((part) => part.text).join('\n\n')
    const last = ready.at(-1)
    const isComplete = mode !== 'append' || isSettled || last?.status !== 'open' || last.id !== newest?.id
    return isComplete ? source : source.slice(0, lastWordEnd(source, options.shown.ends?.get(key) ?? 0))
  }
}

/** Returns when a message is due after a long silence, in ms since the epoch. */
export function silentFrom({ startedAt = 0 }: Reply, { shown, policy }: ViewOptions): number {
  return Math.max(shown.postedAt ?? 0, startedAt) + policy.heartbeatMs
}

/**
 * Returns the end of the last finished paragraph outside of code, or `startIndex` if that is not after it. Code that may become
 * a file is not shown before it is complete.
 */
function paragraphsEnd(source: string, startIndex: number, { uploads, policy }: ViewOptions): number {
  if (source.lastIndexOf('\n\n') <= startIndex) return startIndex
  const blocks = codeBlocksIn(source)
  const file = blocks.find(({ code, isClosed }) => !isClosed || (uploads && code.length > policy.documentLength))
  for (let end = source.lastIndexOf('\n\n', file?.start); end > startIndex; end = source.lastIndexOf('\n\n', end - 1))
    if (!blocks.some((block) => block.start < end && end < block.end)) return end
  return startIndex
}

/**
 * Returns the parts before the one that is growing. A text part with another part after it is complete, although the
 * event that seals it arrives a little later.
 */
function sealedPrefix(parts: readonly TextPart[], newest: Part | undefined): readonly TextPart[] {
  const open = parts.findIndex((part) => part.status === 'open' && part.id === newest?.id)
  return open === -1 ? parts : parts.slice(0, open)
}

/**
 * Turns code that is too long for a message into a file below the text that announces it. With edits, the file is below the
 * answer, and a line with its name replaces the code once the file is posted. Without edits, the answer continues below the
 * file. The code of a refused file stays text. `isWhole`: the text is complete.
 */
function withFiles(card: AnswerCard, isWhole: boolean, options: ViewOptions): readonly Card[] {
  const { uploads, policy, mode, shown } = options
  const { documentLength } = policy
  // Text posted in pieces cannot be taken back.
  if (!uploads || mode === 'append' || card.source.length <= documentLength) return [card]
  const files: Card[] = []
  let source = ''
  let from = 0
  let count = 0
  for (const block of codeBlocksIn(card.source)) {
    if (block.code.length <= documentLength) continue
    count += 1
    const name = `code-${count}.${fileExtension(block.language)}`
    const key = fileKey(card.key, name)
    source += card.source.slice(from, block.start)
    from = block.start
    const isFilePosted = shown.posted.has(key)
    // Without edits, code that was posted stays.
    const isCodePosted = mode !== 'live' && !isFilePosted && (shown.ends?.get(card.key) ?? 0) > source.length
    if (shown.lost?.has(key) || isCodePosted) continue
    const isReady = isWhole || (mode === 'sealed' && block.isClosed)
    if (isReady) files.push(fileCard(block, key, name, options))
    if (!isFilePosted && mode !== 'live') {
      if (!isReady) continue
      // The text above the file is posted first, and the text below it once the file is there.
      return [...files.slice(0, -1), { ...card, source, isOpen: true, isSilent: true }, ...files.slice(-1)]
    }
    // A file between two texts names itself. Elsewhere a message below it notifies.
    const isNamed = mode === 'live' || !options.rings
    if (!isFilePosted) source += announcedBeginning(block, name, options)
    else if (isNamed) source += italicCaption(block, name, options)
    from = block.end
  }
  return [{ ...card, source: source + card.source.slice(from) }, ...files]
}

/** Returns the card that posts the block's code as a file. */
function fileCard(block: CodeBlock, key: string, name: string, { texts }: ViewOptions): Card {
  const caption = texts.file(name, lineCount(block))
  return { type: 'file', key, source: caption, file: { name, text: `${block.code}\n`, caption } }
}

/** Returns the file's caption in italics. Empty if the host's text is blank. */
function italicCaption(block: CodeBlock, name: string, { texts }: ViewOptions): string {
  const caption = texts.file(name, lineCount(block))
  return caption.trim() === '' ? '' : `*${caption}*`
}

/**
 * Returns the code that a message shows until the file is posted: its first `documentLength` units, and a note in italics
 * unless the host's text is blank.
 */
function announcedBeginning(block: CodeBlock, name: string, { texts, policy }: ViewOptions): string {
  const { opening, marker, code } = block
  const note = texts.fileFollows(name, lineCount(block))
  const shown = `${opening}\n${withoutHalf(code.slice(0, policy.documentLength))}\n${marker}`
  return note.trim() === '' ? shown : `${shown}\n\n*${note}*`
}

/** Returns the number of lines of the code, without blank ones at its end. */
function lineCount({ code }: CodeBlock): number {
  return code.trimEnd().split('\n').length
}
