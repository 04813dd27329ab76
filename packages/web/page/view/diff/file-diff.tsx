import { escapeInvisible } from '@reply/core'
import { counted } from '@reply/core/show'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { texts } from '../../texts.ts'
import { memo } from '../memo.ts'
import { type DiffLine, hunksOf, type Pair, pairsOf, type Word, wordsOf } from './hunks.ts'

/** How a diff is shown: one line below the other, or before and after side by side. */
export type DiffLayout = 'unified' | 'split'

/** From this many lines on, a diff is folded. */
const mostShown = 400
/** Lines that are laid out at once. */
const pieceLines = 100

interface HunksProps {
  readonly patches: readonly string[]
  readonly layout: DiffLayout
}

/** The hunks of a file, with the changes within lines. Many lines are folded at first. */
export const Hunks = memo(({ patches, layout }: HunksProps): ComponentChildren => {
  const [isShown, setShown] = useState(false)
  const hunks = patches.flatMap(hunksOf)
  const count = hunks.reduce((sum, { lines }) => sum + lines.length, 0)
  if (count > mostShown && !isShown)
    return (
      <p class="diff-note">
        {texts.diff.large(counted(count, 'line'))}{' '}
        <button type="button" class="link" onClick={() => setShown(true)}>
          {texts.diff.show}
        </button>
      </p>
    )
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it.
    // biome-ignore lint/a11y/useSemanticElements: it groups no fields.
    <div class={`diff ${layout}`} role="group" tabIndex={0} aria-label={texts.diff.lines} dir="ltr">
      {hunks.map(({ head, lines }, index) => (
        <div key={index} class="hunk">
          <div class="hunk-head">{escapeInvisible(head)}</div>
          {piecesOf(pairsOf(lines)).map((pairs, at) => (
            <div key={at} class="piece" style={{ containIntrinsicSize: `auto ${pairs.length * 20}px` }}>
              {layout === 'split' ? pairs.map(splitRow) : unifiedRows(pairs)}
            </div>
          ))}
        </div>
      ))}
    </div>
  )
})

function piecesOf(pairs: readonly Pair[]): readonly (readonly Pair[])[] {
  const pieces: (readonly Pair[])[] = []
  for (let at = 0; at < pairs.length; at += pieceLines) pieces.push(pairs.slice(at, at + pieceLines))
  return pieces
}

/** The lines below each other: of lines that changed together first those before, then those after. */
function unifiedRows(pairs: readonly Pair[]): ComponentChildren {
  const rows: ComponentChildren[] = []
  let added: ComponentChildren[] = []
  const flush = (): void => {
    rows.push(...added)
    added = []
  }
  pairs.forEach((pair, at) => {
    const { left, right } = pair
    const words = wordsOf(pair)
    if (left === right && left) {
      flush()
      rows.push(<UnifiedLine key={`${at}`} line={left} />)
      return
    }
    if (left) rows.push(<UnifiedLine key={`${at}-`} line={left} words={words?.left} />)
    if (right) added.push(<UnifiedLine key={`${at}+`} line={right} words={words?.right} />)
  })
  flush()
  return rows
}

interface LineProps {
  readonly line: DiffLine
  readonly words?: readonly Word[] | undefined
}

function UnifiedLine({ line, words }: LineProps): ComponentChildren {
  return (
    <div class={`line ${line.type}`}>
      <span class="number">{line.old}</span>
      <span class="number">{line.next}</span>
      <LineText line={line} words={words} />
    </div>
  )
}

function splitRow(pair: Pair, at: number): ComponentChildren {
  const words = wordsOf(pair)
  const { left, right } = pair
  return (
    <div key={at} class="pair">
      <Side line={left} number={left?.old} words={words?.left} />
      <Side line={right} number={right?.next} words={words?.right} />
    </div>
  )
}

interface SideProps {
  readonly line: DiffLine | undefined
  readonly number: number | undefined
  readonly words: readonly Word[] | undefined
}

function Side({ line, number, words }: SideProps): ComponentChildren {
  if (!line) return <div class="line empty" />
  return (
    <div class={`line ${line.type}`}>
      <span class="number">{number}</span>
      <LineText line={line} words={words} />
    </div>
  )
}

const signs = { same: ' ', added: '+', removed: '−', note: ' ' } as const

function LineText({ line, words }: LineProps): ComponentChildren {
  return (
    <span class="line-text">
      <span class="sign">{signs[line.type]}</span>
      {words
        ? words.map(({ text, isChanged }, index) =>
            isChanged ? <mark key={index}>{escapeInvisible(text)}</mark> : escapeInvisible(text),
          )
        : escapeInvisible(line.text)}
    </span>
  )
}
