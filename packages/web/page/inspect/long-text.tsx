import { escapeInvisible } from '@reply/core'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { texts } from './texts.ts'

/** From this length on, a text is cut at first, in UTF-16 units. */
const mostUnits = 20_000

/** A text in a fixed-width font. A long one is cut until the reader asks for all of it. */
export function LongText({
  text,
  class: name = '',
}: {
  readonly text: string
  readonly class?: string
}): ComponentChildren {
  const [isWhole, setWhole] = useState(false)
  const isCut = text.length > mostUnits && !isWhole
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it. */}
      <pre class={`long ${name}`} tabIndex={0} dir="ltr">
        {escapeInvisible(isCut ? text.slice(0, mostUnits) : text)}
      </pre>
      {isCut && (
        <button type="button" class="link" onClick={() => setWhole(true)}>
          {texts.showAll(`${Math.round(text.length / 1000).toLocaleString('en')} kB`)}
        </button>
      )}
    </>
  )
}
