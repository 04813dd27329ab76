import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { OpenedRecording } from '../../src/inspect/recording.ts'
import { timeOfDay } from './format.ts'
import { texts } from './texts.ts'

const rowHeight = 28

interface FramesProps {
  readonly recording: OpenedRecording
  readonly moments: number
  readonly moment: number
  readonly found: ReadonlySet<number>
  readonly go: (moment: number) => void
}

/** The list of all frames, of which only those in view are in the document. */
export function Frames({ recording, moments, moment, found, go }: FramesProps): ComponentChildren {
  const scroller = useRef<HTMLElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(400)
  useEffect(() => {
    const element = scroller.current
    if (!element) return
    const resized = new ResizeObserver(() => setHeight(element.clientHeight))
    resized.observe(element)
    return () => resized.disconnect()
  }, [])
  useEffect(() => {
    const element = scroller.current
    if (!element) return
    const at = moment * rowHeight
    if (at < element.scrollTop || at + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = at - element.clientHeight / 2
  }, [moment, height])
  const first = Math.max(0, Math.floor(top / rowHeight) - 8)
  const last = Math.min(moments, Math.ceil((top + height) / rowHeight) + 8)
  return (
    <section
      ref={scroller}
      class="frames"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it.
      tabIndex={0}
      aria-label={texts.region.frames}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <ol style={{ height: `${moments * rowHeight}px` }}>
        {Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset).map((index) => (
          <li key={index} style={{ top: `${index * rowHeight}px` }} aria-setsize={moments} aria-posinset={index + 1}>
            <button
              type="button"
              tabIndex={-1}
              class={found.has(index) ? 'frame found' : 'frame'}
              aria-current={index === moment ? 'true' : undefined}
              onClick={() => go(index)}
            >
              <span class="frame-number">{index + 1}</span>
              <span class="frame-time">{timeOfDay(recording.atOf(index)).slice(3)}</span>
              <span class={`frame-kind kind-${recording.kindOf(index)}`}>{texts.kinds[recording.kindOf(index)]}</span>
              <span class="frame-type">{index >= recording.length ? texts.end : recording.typeOf(index)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  )
}
