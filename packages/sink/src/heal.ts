import { carryOf, closing } from './carry.ts'
import { known, lex, type Token } from './markdown.ts'

/** A last line of which nobody can say yet what it will be: a heading, an item, a box, a quote, a rule, a fence. */
const HALF_LINE =
  /(?:^|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:#{1,6}|[-*+]|--|={1,2}|>|`{1,2}|~{1,2}|[-*+][ \t]+\[[ xX]?\]?)[ \t]*$/

/** An image whose address isn't whole, a link whose address isn't. */
const HALF_IMAGE = /^!(?:$|\[[^\]]*(?:\](?:\([^)]*)?)?$)/
const HALF_LINK = /^\[((?:[^[\]]|\[[^[\]]*\])*)\]\([^)]*$/

/** The most that a link or an image has, in UTF-16 units. */
const LONGEST = 2000

/** The most marks that are closed. With more of them open, the text is shown as it is. */
const MOST_OPEN = 16

/** Of a longer block, in UTF-16 units, only the end is healed, which takes the same time however long the block is. */
const HEALED = 2 * LONGEST

/** Healing may bring something else to light, which is healed too, but not for ever. */
const ROUNDS = 8
const ROUNDS_OF_LONG = 3

/**
 * Makes the end of a text that still grows look as it will: what is open is closed, half an address is left out, and
 * marks of which nobody can say yet what they will be are hidden.
 *
 * Only the last construct is ever changed; what is whole stays as it is, and the same again changes nothing. What was
 * opened more than 4,000 UTF-16 units before the end of its block, or inside more than 16 others, stays open. Never throws.
 */
export function heal(source: string): string {
  let healed = source
  const isLong = (lastLeaf(source)?.raw.length ?? 0) > HEALED
  const rounds = isLong ? ROUNDS_OF_LONG : ROUNDS
  for (let round = 0; round < rounds; round++) {
    const next = healedOnce(healed)
    if (next === healed) return healed
    healed = next
  }
  return source
}

function healedOnce(source: string): string {
  const carry = carryOf(source)
  if (carry?.fence !== undefined) return healedFence(source, closing(carry), carry.fence.marker)
  const leaf = lastLeaf(source)
  if (leaf === undefined) return source
  const half = HALF_LINE.exec(source)
  if (half !== null) return source.slice(0, half.index)
  return healedSpans(source, leaf)
}

function healedFence(source: string, close: string, marker: string): string {
  const lines = source.split('\n')
  const last = lines.at(-1)?.replace(/^[ \t>]*/, '') ?? ''
  const isHalfClosed = lines.length > 1 && last !== '' && last.length < marker.length && marker.startsWith(last)
  return (isHalfClosed ? lines.slice(0, -1).join('\n') : source.replace(/\n$/, '')) + close
}

/** The text at the very end, if that is what there is. */
function lastLeaf(source: string): Token | undefined {
  let tokens: readonly Token[] = lex(source)
  for (;;) {
    const last = tokens.at(-1)
    if (last?.type === 'blockquote') tokens = known(last.tokens)
    else if (last?.type === 'list') tokens = known(last.items.at(-1)?.tokens ?? [])
    else if (last?.type === 'paragraph' || last?.type === 'heading' || last?.type === 'text') return last
    // A quote or an item of which there is nothing but the mark.
    else return last === undefined && source.trim() !== '' ? { type: 'text', raw: '', text: '' } : undefined
  }
}

/** What is whole was read as a token of its own: what is left in the text is open, or means nothing. */
function healedSpans(source: string, leaf: Token): string {
  const spans = lastSpans('tokens' in leaf && leaf.tokens !== undefined ? known(leaf.tokens) : [])
  const line = spans.map(({ raw }) => raw).join('')
  const inked = source.trimEnd()
  const inkedLine = line.trimEnd()
  const open: string[] = []
  let start = 0
  for (const span of spans) {
    const texts = span.type === 'text' ? span.raw.matchAll(/`+|!?\[|!$|\*+|_+|~+/g) : []
    for (const { 0: run, index } of texts) {
      const at = start + index
      if (open.length >= MOST_OPEN) return source
      if (run.startsWith('`') && at + run.length < inkedLine.length) return ending(code(inked, run), open)
      const isNearEnd = inkedLine.length - at <= LONGEST
      const healed = isNearEnd ? healedTail(inked, inkedLine.slice(at), run, open) : undefined
      if (healed !== undefined) return healed
      if (/^[*_~]/.test(run)) note(open, run, line.charAt(at - 1), line.charAt(at + run.length))
    }
    start += span.raw.length
  }
  return open.length === 0 ? source : ending(inked, open) + source.slice(inked.length)
}

function lastSpans(spans: readonly Token[]): readonly Token[] {
  let [first, units] = [spans.length, 0]
  while (first > 0 && units < HEALED) {
    first--
    units += spans[first]?.raw.length ?? 0
  }
  return first === 0 ? spans : spans.slice(first)
}

/** What is left when the text ends in half a construct that begins with `run`. */
function healedTail(source: string, tail: string, run: string, open: readonly string[]): string | undefined {
  const text = run === '[' ? HALF_LINK.exec(tail)?.[1] : undefined
  const isHidden = run.startsWith('!') ? HALF_IMAGE.test(tail) : /^[`*_~]+$/.test(tail)
  if ((text === undefined && !isHidden) || !source.endsWith(tail)) return undefined
  return ending(source.slice(0, source.length - tail.length) + (text ?? ''), open)
}

/** Closes what is open, from the innermost. */
function ending(text: string, open: readonly string[]): string {
  const inked = text.trimEnd()
  let end = inked
  for (const run of open.toReversed()) {
    // Nothing but the mark: there is nothing to close.
    end = end.endsWith(run) && end.length <= inked.length ? end.slice(0, -run.length).trimEnd() : end + run
  }
  return end
}

function code(source: string, run: string): string {
  let end = source.length
  while (source.charAt(end - 1) === '`') end--
  return source.slice(0, end) + run
}

function note(open: string[], run: string, before: string, after: string): void {
  if (run.startsWith('~') && run.length !== 2) return
  const follows = before !== '' && !/\s/.test(before)
  const opened = follows ? open.lastIndexOf(run) : -1
  if (opened >= 0) open.splice(opened)
  else if (/\S/.test(after) && !(follows && /[\p{L}\p{N}]/u.test(before))) open.push(run)
}
