/** Kinds of WhatsApp's marks. */
export type Mark = 'bold' | 'italic' | 'struck'

const signs: Readonly<Record<Mark, string>> = { bold: '*', italic: '_', struck: '~' }

/** A part of a line whose marks aren't written yet. `written` is sent unchanged, and shows as `shown`. */
export type Piece =
  | { readonly type: 'words'; readonly text: string }
  | { readonly type: 'written'; readonly text: string; readonly shown: string; readonly as?: 'link' | 'block' }
  | { readonly type: 'open' | 'close'; readonly mark: Mark }
  /** Quotes the line that begins here. */
  | { readonly type: 'quote' }

/** Invisible, and not a letter: disables the mark before it. WhatsApp has no escape character. */
const joiner = '\u2060'

const letter = /[\p{L}\p{N}]/u

/**
 * Writes the marks of a line where WhatsApp recognizes them: around text that doesn't begin or end with white space, and
 * not within a word. Elsewhere, omits them. Disables literal characters that WhatsApp would read as marks.
 */
export function writeMarks(given: readonly Piece[]): { readonly text: string; readonly plain: string } {
  const pieces = given.some(({ type }) => type === 'open' || type === 'close') ? recognized(given) : given
  let text = ''
  let plain = ''
  let index = -1
  for (const piece of pieces) {
    index++
    if (piece.type === 'words') {
      text += literal(piece.text, edgeOf(pieces, index, -1), edgeOf(pieces, index, 1))
      plain += piece.text
    } else if (piece.type === 'written') {
      text += piece.text
      plain += piece.shown
    } else if (piece.type === 'quote') {
      // A quote mark only works at the start of a line.
      if (text === '') text += '> '
    } else text += signs[piece.mark]
  }
  return { text, plain }
}

/** The pieces without marks that WhatsApp would not recognize. */
function recognized(given: readonly Piece[]): readonly Piece[] {
  const all = withoutNested(given)
  const dropped = droppedIn(all)
  return dropped.size === 0 ? all : all.filter((_, at) => !dropped.has(at))
}

/** Disables every character in a plain text that WhatsApp could read as a mark. */
export function literal(words: string, before = '', after = ''): string {
  if (!/[*_~`>]/.test(words)) return words
  return words.replace(/`+|[*_~]|(?<=^|\n)>/g, (sign, at: number) => {
    if (sign.startsWith('`')) return sign.replaceAll('`', `\`${joiner}`)
    const previous = at === 0 ? before : words.slice(Math.max(0, at - 2), at)
    const next = at + 1 === words.length ? after : words.slice(at + 1, at + 3)
    return isMark(sign, previous, next) ? `${sign}${joiner}` : sign
  })
}

function isMark(sign: string, before: string, after: string): boolean {
  const isFirst = before === '' || before.endsWith('\n')
  if (sign === '>') return isFirst
  if (sign === '*' && isFirst && after.startsWith(' ')) return true
  const opens = !endsInLetter(before) && after !== '' && !/^\s/.test(after)
  const closes = before !== '' && !/\s$/.test(before) && !beginsWithLetter(after)
  return opens || closes
}

/** Leaves out marks nested in their own kind. */
function withoutNested(given: readonly Piece[]): readonly Piece[] {
  const open: Mark[] = []
  let nested: Mark[] = []
  return given.filter((piece) => {
    if (piece.type === 'open') {
      const isNested = open.includes(piece.mark)
      if (isNested) nested.push(piece.mark)
      else open.push(piece.mark)
      return !isNested
    }
    if (piece.type !== 'close') return true
    const inner = nested.lastIndexOf(piece.mark)
    if (inner >= 0) nested = nested.toSpliced(inner, 1)
    else open.splice(open.lastIndexOf(piece.mark), 1)
    return inner < 0
  })
}

/** Indexes of the marks that WhatsApp would not recognize. */
function droppedIn(pieces: readonly Piece[]): ReadonlySet<number> {
  const dropped = new Set<number>()
  const opened: number[] = []
  for (const [at, piece] of pieces.entries()) {
    if (piece.type === 'open') opened.push(at)
    if (piece.type !== 'close') continue
    const from = opened.pop()
    if (from === undefined) dropped.add(at)
    else if (!isTaken(pieces, from, at)) dropped.add(from).add(at)
  }
  return dropped
}

function isTaken(pieces: readonly Piece[], from: number, to: number): boolean {
  const inside = pieces.slice(from + 1, to).filter(({ type }) => type === 'words' || type === 'written')
  const [first, last] = [inside[0], inside.at(-1)]
  if (!first || !last) return false
  // A mark right after a link would become part of it.
  if (last.type === 'written' && last.as === 'link') return false
  // Marks don't work around three backticks.
  if (inside.some((piece) => piece.type === 'written' && piece.as === 'block')) return false
  const [begins, ends] = [shownOf(first), shownOf(last)]
  if (/^\s/.test(begins) || /\s$/.test(ends)) return false
  // A doubled mark character opens nothing.
  const opening = pieces[from]
  if (opening?.type === 'open' && first.type === 'words' && begins.startsWith(signs[opening.mark])) return false
  return !endsInLetter(seenOf(pieces, from, -1)) && !beginsWithLetter(seenOf(pieces, to, 1))
}

/** The text next to a position in the line, ignoring marks. */
function seenOf(pieces: readonly Piece[], from: number, step: 1 | -1): string {
  for (let at = from + step; at >= 0 && at < pieces.length; at += step) {
    const piece = pieces[at]
    if (!piece || piece.type === 'quote') return ''
    if (piece.type === 'words' || piece.type === 'written') return shownOf(piece)
  }
  return ''
}

/** The text directly next to a piece. A mark counts as a character that isn't a letter. */
function edgeOf(pieces: readonly Piece[], from: number, step: 1 | -1): string {
  const piece = pieces[from + step]
  if (!piece || piece.type === 'quote') return ''
  return piece.type === 'words' || piece.type === 'written' ? piece.text : '*'
}

function shownOf(piece: Piece): string {
  return piece.type === 'words' ? piece.text : piece.type === 'written' ? piece.text : ''
}

function endsInLetter(text: string): boolean {
  return letter.test([...text.slice(-2)].at(-1) ?? '')
}

function beginsWithLetter(text: string): boolean {
  return letter.test([...text.slice(0, 2)][0] ?? '')
}
