import { escapeInvisible } from '@reply/core'
import { diffWordsWithSpace } from 'diff'
import type { ComponentChildren } from 'preact'

/** Longer texts are compared as a whole, in UTF-16 units. */
const mostUnits = 20_000
/** How much of what stayed is shown beside a change, in UTF-16 units. */
const beside = 120

/** What changed of a text, by words. */
export function Words({ from, to }: { readonly from: string; readonly to: string }): ComponentChildren {
  const isLong = from.length + to.length > mostUnits
  const pieces = isLong ? endsOf(from, to) : diffWordsWithSpace(from, to)
  return (
    <p class="words" dir="auto">
      {pieces.map(({ value, added, removed }, index) => {
        const text = escapeInvisible(value)
        if (added) return <ins key={index}>{text}</ins>
        if (removed) return <del key={index}>{text}</del>
        return <span key={index}>{shortened(text, index > 0, index < pieces.length - 1)}</span>
      })}
    </p>
  )
}

interface Piece {
  readonly value: string
  readonly added?: boolean
  readonly removed?: boolean
}

/** What both texts begin and end with, and what is between. */
function endsOf(from: string, to: string): readonly Piece[] {
  let start = 0
  while (start < from.length && start < to.length && from[start] === to[start]) start += 1
  let end = 0
  while (end < from.length - start && end < to.length - start && from.at(-1 - end) === to.at(-1 - end)) end += 1
  return [
    { value: from.slice(0, start) },
    { value: from.slice(start, from.length - end), removed: true },
    { value: to.slice(start, to.length - end), added: true },
    { value: from.slice(from.length - end) },
  ].filter(({ value }) => value !== '')
}

function shortened(text: string, hasBefore: boolean, hasAfter: boolean): string {
  if (text.length <= 2 * beside) return text
  const start = hasBefore ? text.slice(0, beside) : ''
  const end = hasAfter ? text.slice(-beside) : ''
  return `${start} … ${end}`
}
