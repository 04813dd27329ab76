import { escapeInvisible } from '@reply/core'
import { counted } from '@reply/core/show'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import { memo } from './memo.ts'

interface CodeBlockProps {
  readonly code: string
  readonly language?: string | undefined
  /** Whether it continues a block above. */
  readonly isContinued?: boolean
}

/** A block of code, with a button to copy it. Lines of a diff have the color of their kind. */
export const CodeBlock = memo(({ code, language = '', isContinued = false }: CodeBlockProps): ComponentChildren => {
  const isDiff = language === 'diff' || language === 'patch'
  return (
    <div class={isContinued ? 'code continued' : 'code'} dir="ltr">
      {!isContinued && (
        <div class="code-head">
          <span>{escapeInvisible(language)}</span>
          <CopyButton text={code} />
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it. */}
      <pre tabIndex={0}>
        <code>{isDiff ? <SignedLines text={code} /> : escapeInvisible(code)}</code>
      </pre>
    </div>
  )
})

/** The lines of a diff, each with the color of its sign. */
export function SignedLines({ text }: { readonly text: string }): ComponentChildren {
  return escapeInvisible(text)
    .split('\n')
    .map((line, index) => (
      <span key={index} class={`signed ${kindOf(line)}`}>
        {`${line}\n`}
      </span>
    ))
}

function kindOf(line: string): 'head' | 'added' | 'removed' | 'same' {
  if (/^(?:@@|\+\+\+ |--- |diff |index |Index: |={3,}$)/.test(line)) return 'head'
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same'
}

/** Copies a text. Absent where the browser lets no page copy: on plain http, except at the own computer. */
export function CopyButton({ text }: { readonly text: string }): ComponentChildren {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  if (!('clipboard' in navigator)) return null
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setState('copied')
    } catch {
      setState('failed')
    }
    setTimeout(() => setState('idle'), 2000)
  }
  return (
    <button type="button" class="copy" onClick={() => void copy()}>
      <span aria-live="polite">{texts.copy[state]}</span>
    </button>
  )
}

/** Lines that are shown of a long text at first, and how many more at a time. */
const firstLines = 40
const moreLines = 400
/** Lines, and UTF-16 units, that are laid out at once. */
const chunkLines = 200
const chunkLength = 20_000

interface LongTextProps {
  readonly text: string
  /** `end`: what is folded is above, because the end matters. */
  readonly shows?: 'start' | 'end'
  readonly isDiff?: boolean
  readonly label: string
  /** Whether all of it is shown at once, for what people decide about. */
  readonly isWhole?: boolean
}

/** A text that may be very long, line by line: a part of it, and more on demand. What is out of view is not laid out. */
export const LongText = memo(
  ({ text, shows = 'start', isDiff = false, label, isWhole = false }: LongTextProps): ComponentChildren => {
    const [limit, setLimit] = useState(firstLines)
    const whole = text.replace(/\n$/, '')
    const { shown, hidden, isMuch } = isWhole ? { shown: whole } : foldedTo(limit, whole, shows)
    const more = hidden !== undefined && (
      <div class="more">
        <span>{hidden}</span>
        {isMuch && (
          <button type="button" onClick={() => setLimit(limit + moreLines)}>
            {texts.showMore}
          </button>
        )}
        <button type="button" onClick={() => setLimit(Number.POSITIVE_INFINITY)}>
          {texts.showAll}
        </button>
      </div>
    )
    return (
      <div class="long">
        {shows === 'end' && more}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it. */}
        {/* biome-ignore lint/a11y/useSemanticElements: it groups no fields. */}
        <div class="long-text" role="group" tabIndex={0} aria-label={label} dir="ltr">
          {piecesOf(shown.split('\n')).map((piece, index) => (
            <pre key={index} class="piece" style={{ containIntrinsicSize: `auto ${piece.count * 20}px` }}>
              {isDiff ? <SignedLines text={piece.text} /> : escapeInvisible(piece.text)}
            </pre>
          ))}
        </div>
        {shows === 'start' && more}
      </div>
    )
  },
)

interface Folded {
  readonly shown: string
  /** How much is not shown, in words. Undefined if all is. */
  readonly hidden?: string
  /** Whether more than a few hundred lines are not shown. */
  readonly isMuch?: boolean
}

/** UTF-16 units that count as a line in a text that has few of them. */
const lineLength = 250

/** Returns the first or the last lines of a text. A few more than the limit are no reason to fold. */
function foldedTo(limit: number, text: string, shows: 'start' | 'end'): Folded {
  const lines = text.split('\n')
  const isLong = lines.length > limit + 5
  const kept = isLong ? (shows === 'end' ? lines.slice(-limit) : lines.slice(0, limit)).join('\n') : text
  const most = limit * lineLength
  if (kept.length > most) {
    const shown = shows === 'end' ? kept.slice(-most) : kept.slice(0, most)
    const more = text.length - most
    return { shown, hidden: counted(more, 'more character'), isMuch: more > moreLines * lineLength }
  }
  if (!isLong) return { shown: text }
  const more = lines.length - limit
  return { shown: kept, hidden: counted(more, 'more line'), isMuch: more > moreLines }
}

interface Piece {
  readonly text: string
  readonly count: number
}

function piecesOf(lines: readonly string[]): readonly Piece[] {
  const pieces: Piece[] = []
  let start = 0
  let length = 0
  lines.forEach((line, at) => {
    length += line.length
    const isFull = at + 1 - start >= chunkLines || length >= chunkLength
    if (!isFull && at + 1 < lines.length) return
    const text = lines.slice(start, at + 1).join('\n')
    // A single line of a megabyte.
    for (let from = 0; from === 0 || from < text.length; from += chunkLength * 2)
      pieces.push({ text: text.slice(from, from + chunkLength * 2), count: at + 1 - start })
    start = at + 1
    length = 0
  })
  return pieces
}
