import type { LocalRun } from '@reply/core/source'
import { createPlainText } from '../process/plain-text.ts'
import { createExcerpt } from './excerpt.ts'

/** Where a command wrote. */
export type OutputStream = 'stdout' | 'stderr'

/** What a command wrote, as it wrote it. */
export interface Written {
  /** Whole up to `maxBytes`; of more, the beginning, a line that says how much was left out, and the end. */
  readonly stdout: string
  /** As `stdout`. */
  readonly stderr: string
  /** How many bytes of each are missing. */
  readonly leftOut: Readonly<Record<OutputStream, number>>
}

/** How often the parts of a reply may change between the streams. After that, each is held until the end. */
const mostParts = 1000

/** Collects what a command writes, and shows it in its run: a part for each stretch of one stream. */
export function createTranscript(run: LocalRun, maxBytes: number) {
  const streams = { stdout: createStream(maxBytes), stderr: createStream(maxBytes) }
  let current: OutputStream | undefined
  let raw: string[] = []
  let parts = 0
  return { push, end }

  function push(name: OutputStream, text: string): void {
    const stream = streams[name]
    const head = stream.excerpt.push(text)
    if (head === '') return
    stream.head.push(head)
    if (name !== current && parts >= mostParts) stream.late.push(head)
    else show(name, head)
  }

  function show(name: OutputStream, text: string): void {
    if (name !== current) {
      seal()
      current = name
      parts++
    }
    raw.push(text)
    const delta = streams[name].plain.push(text)
    run.write({ type: 'text', delta, raw: { stream: name, data: text } })
  }

  /** The part's `raw` has all that it shows, with its terminal sequences. */
  function seal(): void {
    if (current === undefined) return
    const rest = streams[current].plain.end()
    if (rest !== '') run.write({ type: 'text', delta: rest })
    run.write({ type: 'seal', raw: { stream: current, data: raw.join('') } })
    raw = []
    current = undefined
  }

  function end(): Written {
    const rests = { stdout: streams.stdout.excerpt.end(), stderr: streams.stderr.excerpt.end() }
    for (const name of current === 'stderr' ? (['stderr', 'stdout'] as const) : (['stdout', 'stderr'] as const)) {
      const text = [...streams[name].late, rests[name].text].join('')
      if (text !== '') show(name, text)
    }
    seal()
    return {
      stdout: streams.stdout.head.join('') + rests.stdout.text,
      stderr: streams.stderr.head.join('') + rests.stderr.text,
      leftOut: { stdout: rests.stdout.leftOut, stderr: rests.stderr.leftOut },
    }
  }
}

function createStream(maxBytes: number) {
  const head: string[] = []
  const late: string[] = []
  return { excerpt: createExcerpt(maxBytes), plain: createPlainText(), head, late }
}
