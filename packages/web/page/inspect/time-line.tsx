import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { FrameKind } from '../../src/inspect/frame.ts'
import type { OpenedRecording } from '../../src/inspect/recording.ts'
import { span } from './format.ts'
import { texts } from './texts.ts'

/** The lanes of the time line from the top, and the color of each as a custom property. */
const lanes: readonly { readonly kinds: readonly FrameKind[]; readonly color: string }[] = [
  { kinds: ['start', 'end'], color: '--good' },
  { kinds: ['text'], color: '--accent' },
  { kinds: ['reasoning'], color: '--soft' },
  { kinds: ['tool', 'agent'], color: '--tool' },
  { kinds: ['ask', 'error', 'malformed'], color: '--danger' },
  { kinds: ['held', 'status', 'quiet', 'none'], color: '--line-strong' },
]
const laneHeight = 8
const gap = 2
export const timeLineHeight = lanes.length * (laneHeight + gap) + 10

interface TimeLineProps {
  readonly recording: OpenedRecording
  /** How many moments there are, so that it is drawn again when there are more. */
  readonly moments: number
  readonly moment: number
  readonly from: number | undefined
  readonly found: readonly number[]
  readonly go: (moment: number) => void
}

/** All frames of a recording in lanes, by time or by number. Frames of one pixel are one mark, which is stronger for more. */
export function TimeLine({ recording, moments, moment, from, found, go }: TimeLineProps): ComponentChildren {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [width, setWidth] = useState(0)
  const [byTime, setByTime] = useState(true)
  const [theme, setTheme] = useState(0)
  const scale = scaleOf(recording, moments, width, byTime)
  useEffect(() => {
    const element = canvas.current
    if (!element) return
    const resized = new ResizeObserver(() => setWidth(Math.max(1, Math.floor(element.clientWidth))))
    resized.observe(element)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const recolor = (): void => setTheme((count) => count + 1)
    dark.addEventListener('change', recolor)
    return () => {
      resized.disconnect()
      dark.removeEventListener('change', recolor)
    }
  }, [])
  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, width, recording, moments, scale.x, { moment, from, found })
  }, [width, moments, moment, from, found, byTime, theme])
  const scrub = (event: PointerEvent): void => {
    if (event.buttons !== 1 || !canvas.current) return
    go(scale.momentAt(event.clientX - canvas.current.getBoundingClientRect().left))
  }
  const total = recording.atOf(moments) - recording.startedAt
  return (
    <section class="time-line" aria-label={texts.region.timeLine}>
      <canvas
        ref={canvas}
        height={timeLineHeight}
        role="slider"
        tabIndex={0}
        aria-label={texts.region.timeLine}
        aria-valuemin={1}
        aria-valuemax={Math.max(1, moments)}
        aria-valuenow={Math.min(moment + 1, Math.max(1, moments))}
        aria-valuetext={moment >= recording.length ? texts.end : texts.moment(moment, recording.length)}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          scrub(event)
        }}
        onPointerMove={scrub}
      />
      <div class="time-line-foot">
        <button type="button" class="link" aria-pressed={byTime} onClick={() => setByTime(!byTime)}>
          {byTime ? texts.axis.time : texts.axis.frames}
        </button>
        <span>{total > 0 ? span(total) : ''}</span>
      </div>
    </section>
  )
}

interface Scale {
  /** The pixel of a moment. */
  readonly x: (moment: number) => number
  readonly momentAt: (x: number) => number
}

function scaleOf(recording: OpenedRecording, moments: number, width: number, byTime: boolean): Scale {
  const start = recording.startedAt
  const total = recording.atOf(moments) - start
  const last = Math.max(1, moments - 1)
  const inner = Math.max(1, width - 3)
  const isTimed = byTime && start > 0 && total > 0
  const x = (moment: number): number =>
    1 + Math.floor((isTimed ? Math.max(0, recording.atOf(moment) - start) / total : moment / last) * inner)
  return {
    x,
    momentAt: (wanted) => {
      if (!isTimed) return Math.max(0, Math.min(moments - 1, Math.round(((wanted - 1) / inner) * last)))
      let [low, high] = [0, moments - 1]
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if (x(middle) <= wanted) low = middle
        else high = middle - 1
      }
      return Math.max(0, low)
    },
  }
}

interface Marks {
  readonly moment: number
  readonly from: number | undefined
  readonly found: readonly number[]
}

function draw(
  canvas: HTMLCanvasElement,
  width: number,
  recording: OpenedRecording,
  moments: number,
  x: (moment: number) => number,
  { moment, from, found }: Marks,
): void {
  const ratio = devicePixelRatio || 1
  canvas.width = width * ratio
  canvas.height = timeLineHeight * ratio
  const context = canvas.getContext('2d')
  if (!context) return
  context.scale(ratio, ratio)
  const style = getComputedStyle(canvas)
  const counts = countByPixel(recording, moments, width, x)
  lanes.forEach(({ color }, lane) => {
    context.fillStyle = style.getPropertyValue(color)
    const row = counts[lane] ?? []
    row.forEach((count, pixel) => {
      if (count === 0) return
      context.globalAlpha = Math.min(1, 0.45 + Math.log2(count) / 8)
      context.fillRect(pixel, 5 + lane * (laneHeight + gap), 1.5, laneHeight)
    })
  })
  context.globalAlpha = 1
  context.fillStyle = style.getPropertyValue('--warn')
  for (const one of found.slice(0, 2000)) context.fillRect(x(one), 0, 1, 4)
  if (from !== undefined) {
    context.globalAlpha = 0.12
    context.fillStyle = style.getPropertyValue('--accent')
    context.fillRect(Math.min(x(from), x(moment)), 0, Math.abs(x(moment) - x(from)), timeLineHeight)
    context.globalAlpha = 1
    context.fillRect(x(from), 0, 1, timeLineHeight)
  }
  context.fillStyle = style.getPropertyValue('--ink')
  context.fillRect(x(Math.min(moment, Math.max(0, moments - 1))), 0, 2, timeLineHeight)
}

const laneOfKind = new Map(lanes.flatMap(({ kinds }, lane) => kinds.map((kind) => [kind, lane] as const)))

function countByPixel(
  recording: OpenedRecording,
  moments: number,
  width: number,
  x: (moment: number) => number,
): readonly (readonly number[])[] {
  const counts = lanes.map(() => new Array<number>(width + 1).fill(0))
  for (let moment = 0; moment < moments; moment += 1) {
    const row = counts[laneOfKind.get(recording.kindOf(moment)) ?? 0]
    const pixel = x(moment)
    if (row) row[pixel] = (row[pixel] ?? 0) + 1
  }
  return counts
}
